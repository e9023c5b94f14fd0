import { useEffect, useId, useLayoutEffect, useRef, useState, type DragEvent, type KeyboardEvent, type MouseEvent, type ReactNode } from "react";
import { Link } from "react-router";
import { useWords } from "../i18n";
import { useFileWords } from "../i18n/files";
import { clock } from "../ui/time";
import { size } from "../ui/values";
import { isFolder, useKnown, type Entry } from "./asks";
import { Kind } from "./kind";
import { addressOf, parentOf } from "./paths";
import { ROW, scrollTo, windowOf } from "./window";

export type Act = "open" | "up" | "rename" | "delete" | "copy" | "cut" | "paste" | "folder";

export interface Chosen {
  entries: ReadonlyMap<string, Entry>;
  active: number;
  anchor: number;
}

export const NOTHING: Chosen = { entries: new Map(), active: 0, anchor: 0 };

interface Props {
  label: string;
  total: number;
  entryAt: (at: number) => Entry | undefined;
  shows: (first: number, last: number) => void;
  chosen: Chosen;
  choose: (chosen: Chosen) => void;
  act: (act: Act, entry: Entry | undefined) => void;
  menu: (at: { x: number; y: number }) => void;
  /** Something is dragged onto a folder: files of the laptop, or rows. */
  drop: (entry: Entry, data: DataTransfer) => void;
  sort?: string;
  sortBy?: (sort: string) => void;
  /** With the folder each is in, as a search finds them. */
  places?: boolean;
  faded?: ReadonlySet<string>;
  children?: ReactNode;
}

export const ROWS = "application/x-danlu-files";
const KEYS: Record<string, Act> = { Enter: "open", Backspace: "up", F2: "rename", Delete: "delete" };
const WITH_CTRL: Record<string, Act> = { c: "copy", x: "cut", v: "paste" };

/** A folder's entries as a grid that draws only what is seen. */
export function Grid(props: Props) {
  const { total, entryAt, chosen, choose, shows } = props;
  const words = useFileWords();
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const [scrolled, setScrolled] = useState(0);
  const [seen, setSeen] = useState(600);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const watch = new ResizeObserver(() => setSeen(element.clientHeight));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const { height, first, last, top } = windowOf(total, scrolled, seen);
  useEffect(() => shows(first, last), [first, last, shows]);

  const go = (to: number, event: { shiftKey: boolean }) => {
    const at = Math.max(0, Math.min(total - 1, to));
    const entry = entryAt(at);
    if (event.shiftKey) choose({ entries: between(chosen.anchor, at, entryAt), active: at, anchor: chosen.anchor });
    else choose({ entries: new Map(entry === undefined ? [] : [[entry.path, entry]]), active: at, anchor: at });
    const element = box.current;
    if (element !== null) element.scrollTop = scrollTo(at, total, element.scrollTop, element.clientHeight);
  };
  const press = (event: KeyboardEvent) => {
    if (event.target !== box.current) return;
    const many = Math.max(1, Math.floor(seen / ROW) - 1);
    const moves: Record<string, number> = {
      ArrowDown: chosen.active + (chosen.entries.size === 0 && chosen.active === 0 ? 0 : 1),
      ArrowUp: chosen.active - 1,
      PageDown: chosen.active + many,
      PageUp: chosen.active - many,
      Home: 0,
      End: total - 1,
    };
    const control = event.ctrlKey || event.metaKey;
    const move = moves[event.key];
    const act = control ? WITH_CTRL[event.key.toLowerCase()] : KEYS[event.key];
    if (move !== undefined && !control && !event.altKey) go(move, event);
    else if (control && event.key.toLowerCase() === "a") choose({ ...chosen, entries: between(0, total - 1, entryAt) });
    else if (event.key === " ") choose(toggled(chosen, chosen.active, entryAt));
    else if (event.key === "Escape" && chosen.entries.size > 0) choose({ ...chosen, entries: new Map() });
    else if (act !== undefined) props.act(act, entryAt(chosen.active));
    else if (!control && !event.altKey && event.key.length === 1 && event.key !== "/") {
      const found = named(event.key, chosen.active, first, last, entryAt);
      if (found === null) return;
      go(found, { shiftKey: false });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const rows: ReactNode[] = [];
  for (let at = first; at < last; at += 1) rows.push(<Row key={entryAt(at)?.path ?? at} {...props} at={at} id={`${id}-${at}`} top={top + (at - first) * ROW} />);
  return (
    <div className={props.places ? "file-grid with-places" : "file-grid"}>
      <Head {...props} />
      <div
        ref={box}
        className="file-rows"
        // Without rows it is no grid to a screen reader.
        role={total > 0 ? "grid" : "group"}
        tabIndex={0}
        aria-label={props.label}
        aria-rowcount={total > 0 ? total : undefined}
        aria-multiselectable={total > 0 ? true : undefined}
        aria-describedby={`${id}-keys`}
        aria-activedescendant={chosen.active >= first && chosen.active < last ? `${id}-${chosen.active}` : undefined}
        onScroll={(event) => setScrolled(event.currentTarget.scrollTop)}
        onKeyDown={press}
        onContextMenu={(event) => {
          if (event.target !== event.currentTarget && event.target !== event.currentTarget.firstElementChild) return;
          event.preventDefault();
          choose({ ...chosen, entries: new Map() });
          props.menu({ x: event.clientX, y: event.clientY });
        }}
      >
        <div role={total > 0 ? "rowgroup" : undefined} className="tall" style={{ height }}>{rows}</div>
        {props.children}
      </div>
      <p id={`${id}-keys`} className="hidden-text">{words.keys}</p>
    </div>
  );
}

function Head({ sort, sortBy, places }: Props) {
  const words = useFileWords();
  const column = (key: string, name: string, className = "") => {
    const on = sort === key || sort === `-${key}`;
    const down = sort === `-${key}`;
    return (
      <div className={className}>
        {sortBy === undefined ? (
          name
        ) : (
          <button type="button" aria-pressed={on} title={words.sortBy(name)} onClick={() => sortBy(on && !down ? `-${key}` : key)}>
            {name}
            {on && <span aria-hidden="true">{down ? " ↓" : " ↑"}</span>}
          </button>
        )}
      </div>
    );
  };
  return (
    <div className="file-head">
      <div />
      {column("name", words.columns.name)}
      {places && <div className="place">{words.columns.path}</div>}
      {column("size", words.columns.size, "num")}
      {column("modified", words.columns.modified, "when")}
      <div className="owner">{words.columns.owner}</div>
    </div>
  );
}

function Row({ at, id, top, total, ...props }: Props & { at: number; id: string; top: number }) {
  const { entryAt, chosen, choose } = props;
  const knows = useKnown();
  const words = useFileWords();
  const { time } = useWords();
  const [over, setOver] = useState(false);
  const entry = entryAt(at);
  const spot = { top, height: ROW };
  if (entry === undefined) {
    return (
      <div id={id} role="row" className="file-row" aria-rowindex={at + 1} style={spot} data-loading>
        <span role="gridcell" className="hidden-text">{words.loading}</span>
      </div>
    );
  }
  const on = chosen.entries.has(entry.path);
  const folder = isFolder(entry);
  const pick = (event: MouseEvent) => {
    if (event.shiftKey) choose({ entries: between(chosen.anchor, at, entryAt), active: at, anchor: chosen.anchor });
    else if (event.ctrlKey || event.metaKey) choose(toggled(chosen, at, entryAt));
    else choose({ entries: new Map([[entry.path, entry]]), active: at, anchor: at });
  };
  const name = (event: MouseEvent) => {
    // A folder opens as a link does; of a file there is something to see beside the list.
    if (event.shiftKey || event.ctrlKey || event.metaKey || !folder) event.preventDefault();
    else {
      event.stopPropagation();
      knows(entry);
    }
  };
  const dragOver = (event: DragEvent) => {
    if (!folder || (on && event.dataTransfer.types.includes(ROWS))) return;
    event.preventDefault();
    event.stopPropagation();
    setOver(true);
  };
  return (
    <div
      id={id}
      role="row"
      className={["file-row", on ? "on" : "", at === chosen.active ? "active" : "", over ? "over" : "", props.faded?.has(entry.path) ? "faded" : ""].join(" ")}
      aria-rowindex={at + 1}
      aria-selected={on}
      style={spot}
      draggable
      onClick={pick}
      onDoubleClick={() => props.act("open", entry)}
      onContextMenu={(event) => {
        event.preventDefault();
        event.stopPropagation();
        if (!on) choose({ entries: new Map([[entry.path, entry]]), active: at, anchor: at });
        props.menu({ x: event.clientX, y: event.clientY });
      }}
      onDragStart={(event) => {
        const paths = on ? [...chosen.entries.keys()] : [entry.path];
        event.dataTransfer.setData(ROWS, JSON.stringify(paths));
        event.dataTransfer.effectAllowed = "copyMove";
      }}
      onDragOver={dragOver}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        setOver(false);
        if (!folder) return;
        event.preventDefault();
        event.stopPropagation();
        props.drop(entry, event.dataTransfer);
      }}
    >
      <div role="gridcell" className="pick">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={words.choose(entry.name)}
          checked={on}
          onClick={(event) => event.stopPropagation()}
          onChange={() => choose(toggled(chosen, at, entryAt))}
        />
      </div>
      <div role="gridcell" className="name" title={entry.kind === "link" ? `${entry.name}: ${entry.target_kind === null ? words.nowhere : words.linkTo(entry.target ?? "")}` : entry.name}>
        <Kind entry={entry} />
        <Link className="cut" tabIndex={-1} draggable={false} to={addressOf(entry.path)} onClick={name}>{entry.name}</Link>
      </div>
      {props.places && <div role="gridcell" className="place cut" title={parentOf(entry.path)}>{parentOf(entry.path)}</div>}
      <div role="gridcell" className="num">{folder ? "" : size(entry.size)}</div>
      <div role="gridcell" className="when">{clock(entry.modified_at, time)}</div>
      <div role="gridcell" className="owner cut">{entry.owner}</div>
    </div>
  );
}

function between(one: number, other: number, entryAt: Props["entryAt"]): Map<string, Entry> {
  const found = new Map<string, Entry>();
  for (let at = Math.min(one, other); at <= Math.max(one, other); at += 1) {
    const entry = entryAt(at);
    if (entry !== undefined) found.set(entry.path, entry);
  }
  return found;
}

function toggled(chosen: Chosen, at: number, entryAt: Props["entryAt"]): Chosen {
  const entry = entryAt(at);
  const entries = new Map(chosen.entries);
  if (entry !== undefined && !entries.delete(entry.path)) entries.set(entry.path, entry);
  return { entries, active: at, anchor: at };
}

/** The next row of those at hand whose name begins with what was typed. */
function named(letter: string, active: number, first: number, last: number, entryAt: Props["entryAt"]): number | null {
  const order = [...Array(Math.max(0, last - first)).keys()].map((at) => first + at);
  const from = order.findIndex((at) => at > active);
  const turn = from < 0 ? order : [...order.slice(from), ...order.slice(0, from)];
  return turn.find((at) => entryAt(at)?.name.toLowerCase().startsWith(letter.toLowerCase())) ?? null;
}
