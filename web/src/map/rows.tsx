import { useRef, type CSSProperties, type KeyboardEvent } from "react";
import { useNavigate } from "react-router";
import { useWords } from "../i18n";
import { Clock, Cross, Question, Warn } from "../ui/icons";
import { initials, tint } from "../ui/people";
import { useNow } from "../ui/now";
import { clock, duration } from "../ui/time";
import { amount, nameOf, refPath, short, size } from "../ui/values";
import { usePicture } from "./live";
import { idleSince, type Block, type Cell, type Kind, type Row } from "./model";
import { Line, useRecent } from "./recent";
import { useWhat } from "./what";

interface Props {
  me: string;
  fits: number | null;
  person: string | null;
  onNode: (name: string) => void;
  onHover: (cell: Cell | null, at: DOMRect | null) => void;
}

/** Every GPU as something one can read, focus and open: for up to 160 of them. */
export function Rows({ me, fits, person, onNode, onHover }: Props) {
  const picture = usePicture(me);
  const words = useWords();
  const box = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent) => {
    const at = (event.target as HTMLElement).closest<HTMLElement>(".gpu");
    if (at === null || !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    step(box.current as HTMLElement, at, event.key, event.shiftKey)?.focus();
  };
  return (
    <div className="card" role="grid" aria-label={words.map.title} ref={box} onKeyDown={move}>
      {picture?.rows.map((row, index) => (
        <NodeRow key={row.node.name} {...{ row, me, fits, person, onNode, onHover }} widest={picture.widest} first={index === 0} />
      ))}
    </div>
  );
}

/** The GPU beside, or the same one of the node above or below. */
function step(box: HTMLElement, at: HTMLElement, key: string, whole: boolean): HTMLElement | undefined {
  const rows = [...box.querySelectorAll<HTMLElement>(".gpu-row")].map((row) => [...row.querySelectorAll<HTMLElement>(".gpu")]);
  const y = rows.findIndex((row) => row.includes(at));
  const x = rows[y]?.indexOf(at) ?? 0;
  if (key === "ArrowUp" || key === "ArrowDown" || whole) {
    const by = key === "ArrowUp" || key === "ArrowLeft" ? -1 : 1;
    for (let next = y + by; next >= 0 && next < rows.length; next += by) {
      const row = rows[next] as HTMLElement[];
      if (row.length > 0) return row[Math.min(x, row.length - 1)];
    }
    return undefined;
  }
  const all = rows.flat();
  return all[all.indexOf(at) + (key === "ArrowLeft" ? -1 : 1)];
}

/** Without colour instead of see-through: what is faded can still be read. */
const FADED = { opacity: 1, background: "none", borderColor: "var(--line)", color: "var(--text3)" };

interface RowProps extends Props {
  row: Row;
  widest: number;
  first: boolean;
}

function NodeRow({ row, me, fits, person, onNode, onHover, widest, first }: RowProps) {
  const { map: words, colon } = useWords();
  const { node } = row;
  const able = fits === null || row.free >= fits;
  const recent = useRecent(node.name, row.cells.length > 0 && row.use !== undefined);
  const state = !node.up ? words.silent : node.drained ? [words.drained, node.drain_reason].filter(Boolean).join(colon) : row.free > 0 ? words.freeCount(row.free) : words.full;
  return (
    <div className={`gpu-row ${fits !== null ? (able ? "fits" : "faded") : ""}`} style={able ? undefined : { opacity: 1, color: FADED.color }} role="row">
      <div role="rowheader">
        <button className="node-label" onClick={() => onNode(node.name)}>
          <span className="hidden-text">{words.detailOf(node.name)}</span>
          <span className="name">{short(node.name)}</span>
          <span className={`free-count ${able && row.free > 0 ? "some" : ""}`}>{state}</span>
          <div className="note">{row.cells.length > 0 ? `${row.cells.length} × ${row.model}` : words.cpusFree(amount(node.cpus_free), amount(node.cpus))}</div>
          <Part name={words.cpu} used={1 - node.cpus_free / Math.max(node.cpus, 1)} title={words.cpusFree(amount(node.cpus_free), amount(node.cpus))} />
          <Part name={words.mem} used={1 - node.memory_free / Math.max(node.memory, 1)} title={words.memoryFree(size(node.memory_free), size(node.memory))} />
        </button>
      </div>
      <div className="blocks" style={{ gridTemplateColumns: `repeat(${widest}, minmax(0, 1fr))` }} role="presentation">
        {row.blocks.map((block, index) => (
          <BlockView
            key={`${block.cells[0]?.gpu.index}`}
            {...{ block, me, onHover, recent }}
            faded={!able || (person !== null && block.owner !== person)}
            focusable={first && index === 0}
          />
        ))}
      </div>
    </div>
  );
}

function Part({ name, used, title }: { name: string; used: number; title: string }) {
  return (
    <div className="part" title={title}>
      <span>{name}</span>
      <span className="meter">
        <i style={{ width: `${Math.round(100 * Math.min(1, Math.max(0, used)))}%` }} />
      </span>
    </div>
  );
}

interface BlockProps {
  block: Block;
  me: string;
  faded: boolean;
  focusable: boolean;
  recent: ReadonlyMap<number, readonly number[]> | undefined;
  onHover: Props["onHover"];
}

function BlockView({ block, me, faded, focusable, recent, onHover }: BlockProps) {
  const words = useWords();
  const what = useWhat(me);
  const navigate = useNavigate();
  const style = {
    gridColumn: `span ${block.cells.length}`,
    ...(block.owner ? { "--tint": `var(--p${tint(block.owner)})` } : {}),
    ...(faded ? FADED : {}),
  } as CSSProperties;
  const open = isHeld(block.kind) ? block.job : null;
  return (
    <div className={`block ${block.kind} ${block.cells.length === 1 ? "single" : ""} ${faded ? "faded" : ""}`} style={style} role="presentation">
      <Title block={block} me={me} />
      <div className="cells" style={{ gridTemplateColumns: `repeat(${block.cells.length}, minmax(0, 1fr))` }} role="presentation">
        {block.cells.map((cell, index) => (
          <button
            key={cell.gpu.index}
            className="gpu"
            role="gridcell"
            tabIndex={focusable && index === 0 ? 0 : -1}
            onClick={() => open && navigate(`/jobs/${refPath(open)}`)}
            onPointerEnter={(event) => onHover(cell, event.currentTarget.getBoundingClientRect())}
            onPointerLeave={() => onHover(null, null)}
            onFocus={(event) => event.currentTarget.matches(":focus-visible") && onHover(cell, event.currentTarget.getBoundingClientRect())}
            onBlur={() => onHover(null, null)}
          >
            {/* Read before what is seen, not instead of it: who speaks to the page says what they see. */}
            <span className="hidden-text">{words.map.cell(cell.gpu.node, cell.gpu.index, what({ ...cell, use: undefined }))}</span>
            <span className="index">{cell.gpu.index}</span>
            <Inside cell={cell} me={me} recent={recent?.get(cell.gpu.index)} />
          </button>
        ))}
      </div>
    </div>
  );
}

function isHeld(kind: Kind): kind is "mine" | "others" | "idle" {
  return kind === "mine" || kind === "others" || kind === "idle";
}

function Title({ block, me }: { block: Block; me: string }) {
  const { map: words, time } = useWords();
  const gpu = block.cells[0]?.gpu;
  if (isHeld(block.kind)) {
    const owner = block.owner ?? "";
    const wide = block.cells.length > 1;
    return (
      <div className="title" title={block.job ?? ""}>
        <b>{block.mine ? initials(me) : initials(owner)}</b>
        <span className="cut">{nameOf(block.job ?? "")}</span>
        {block.kind !== "idle" && gpu?.ends != null && <span className="end">{wide ? words.until(clock(gpu.ends, time)) : clock(gpu.ends, time)}</span>}
      </div>
    );
  }
  if (block.kind === "outside" && gpu?.outside != null) {
    const { user, engine, id, name } = gpu.outside;
    const wide = block.cells.length > 1;
    return (
      <div className="title" title={words.outsideJob(user, engine, id, name)}>
        <Warn size={13} />
        <b>{initials(user)}</b>
        <span className="cut">{`${engine} ${id}`}</span>
        {gpu.ends != null && <span className="end">{wide ? words.until(clock(gpu.ends, time)) : clock(gpu.ends, time)}</span>}
      </div>
    );
  }
  const text = {
    free: words.free,
    reserved: nameOf(block.job ?? "") || words.legend.reserved,
    drained: words.drained,
    down: words.sick,
    outside: words.outside,
    silent: words.silent,
  }[block.kind];
  return (
    <div className="title">
      {block.kind === "reserved" && <Clock size={13} />}
      {block.kind === "down" && <Cross size={13} />}
      {block.kind === "outside" && <Warn size={13} />}
      {block.kind === "silent" && <Question size={13} />}
      <b className="cut">{text}</b>
    </div>
  );
}

function Inside({ cell, me, recent }: { cell: Cell; me: string; recent: readonly number[] | undefined }) {
  const { map: words, time } = useWords();
  const now = useNow(60_000) / 1000;
  const { gpu, kind, use } = cell;
  const since = idleSince(gpu, use);
  if (kind === "idle" && use !== undefined && since !== null) {
    return (
      <>
        <span className="what">{words.idleFor(duration(now - since, time))}</span>
        <Busy use={use} memory={gpu.memory} recent={recent} />
      </>
    );
  }
  if (kind === "down" && gpu.note) return <span className="what">{gpu.note}</span>;
  if ((isHeld(kind) || kind === "outside") && use?.[0] != null && gpu.jobs.length < 2)
    return <Busy use={use} memory={gpu.memory} recent={recent} />;
  if (kind === "free") return gpu.memory > 0 ? <span className="what">{size(gpu.memory)}</span> : null;
  if (kind === "reserved") {
    const whom = gpu.kept_for?.split("/")[0] ?? "";
    return <span className="what">{whom === me ? words.heldForYou : words.heldFor(whom)}</span>;
  }
  if (gpu.jobs.length > 1 || (kind !== "drained" && kind !== "down" && gpu.free > 0))
    return <span className="what">{Math.round((1 - gpu.free) * 100)} %</span>;
  return null;
}

/** Percent and half an hour of it; a bar each for the GPU and its memory. */
function Busy({ use, memory, recent }: { use: NonNullable<Cell["use"]>; memory: number; recent: readonly number[] | undefined }) {
  const [busy, used] = use;
  return (
    <span className="busy">
      <span className="now">
        <b>{busy}</b>%
      </span>
      <Line values={recent} />
      <i className="bar"><i style={{ width: `${busy ?? 0}%` }} /></i>
      {used != null && memory > 0 && <i className="bar"><i style={{ width: `${Math.min(100, (100 * used * 1_048_576) / memory)}%` }} /></i>}
    </span>
  );
}
