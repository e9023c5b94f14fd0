import { useEffect, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent } from "react";
import { useNavigate } from "react-router";
import { stream } from "../api/stream";
import { useWords } from "../i18n";
import { useTheme } from "../ui/theme";
import { refPath } from "../ui/values";
import { draw, layout, palette, sameShape, type Box } from "./canvas";
import { pictureNow, rowsOf, usePart } from "./live";
import type { Cell, Row } from "./model";

interface Props {
  me: string;
  fits: number | null;
  person: string | null;
  onNode: (name: string) => void;
  onHover: (cell: Cell | null, at: DOMRect | null) => void;
}

/** Many GPUs: one canvas for each model, words and focus as elements over it. */
export function SmallMap(props: Props) {
  const models = usePart(props.me, (picture) => picture?.models.map(({ model }) => model).join("\n") ?? "");
  return (
    <div className="card small-map">
      {models.split("\n").map((model) => (
        <section key={model} aria-label={model}>
          <div className="group">
            <h2>{model}</h2>
            <Sum me={props.me} model={model} />
          </div>
          <Group model={model} {...props} />
        </section>
      ))}
    </div>
  );
}

function Sum({ me, model }: { me: string; model: string }) {
  const words = useWords().map;
  const text = usePart(me, (picture) => {
    const group = picture?.models.find((each) => each.model === model);
    return group && words.nodesOf(group.rows.length, group.totals.free, group.largest);
  });
  return <span className="note">{text}</span>;
}

function Group({ me, model, fits, person, onNode, onHover }: Props & { model: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [at, setAt] = useState<{ row: number; cell: number } | null>(null);
  const theme = useTheme();
  const navigate = useNavigate();
  const kept = useRef<Row[]>([]);
  const shape = usePart(me, (picture) => {
    const rows = rowsOf(picture, model);
    return sameShape(kept.current, rows) ? kept.current : (kept.current = rows);
  });
  const plan = useMemo(() => layout(shape, width), [shape, width]);
  const rowAt = (index: number) => rowsOf(pictureNow(me), model)[index];

  // Measured and drawn before the browser paints: the first frame that has the map has its GPUs.
  useLayoutEffect(() => setWidth(canvas.current?.parentElement?.clientWidth ?? 0), []);
  useEffect(() => {
    const element = canvas.current as HTMLCanvasElement;
    const watch = new ResizeObserver(() => setWidth(element.parentElement?.clientWidth ?? 0));
    watch.observe(element.parentElement as HTMLElement);
    return () => watch.disconnect();
  }, []);
  // Past React: a wave of changes costs what it takes to draw it, and nothing else.
  useLayoutEffect(() => {
    const element = canvas.current as HTMLCanvasElement;
    const context = element.getContext("2d");
    if (width === 0 || context === null) return;
    const scale = window.devicePixelRatio || 1;
    element.width = Math.round(width * scale);
    element.height = Math.round(plan.height * scale);
    element.style.height = `${plan.height}px`;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    const colours = palette(theme);
    let drawn: Row[] = [];
    let over = false;
    const paint = () => {
      const rows = rowsOf(pictureNow(me), model);
      // Nodes that came or went get a plan of their own first.
      if (rows === drawn || !sameShape(rows, shape)) return;
      draw(context, plan, rows, drawn, { colours, fits, person });
      drawn = rows;
    };
    paint();
    if (document.fonts.status === "loading") {
      void document.fonts.ready.then(() => {
        drawn = [];
        if (!over) paint();
      });
    }
    const off = stream.subscribe(paint);
    return () => {
      over = true;
      off();
    };
  }, [me, model, shape, width, plan, theme, fits, person]);

  const hit = (event: PointerEvent) => {
    const bounds = event.currentTarget.getBoundingClientRect();
    return plan.find(event.clientX - bounds.left, event.clientY - bounds.top);
  };
  const rectOf = (box: Box) => {
    const bounds = (canvas.current as HTMLCanvasElement).getBoundingClientRect();
    return new DOMRect(bounds.left + box.x, bounds.top + box.y, box.width, box.height);
  };
  const point = (row: number, cell: number) => {
    const found = rowAt(row)?.cells[cell];
    const box = plan.box(row, cell);
    if (found && box) onHover(found, rectOf(box));
  };
  const open = (row: number, cell: number) => {
    const node = rowAt(row)?.node.name;
    const job = rowAt(row)?.cells[cell]?.gpu.job;
    if (job) navigate(`/jobs/${refPath(job)}`);
    else if (node !== undefined) onNode(node);
  };
  const press = (event: KeyboardEvent) => {
    const now = at ?? { row: 0, cell: 0 };
    if (event.key === "Enter") return open(now.row, now.cell);
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    const next = plan.step(now, event.key, event.shiftKey);
    setAt(next);
    point(next.row, next.cell);
  };
  const ring = at === null ? undefined : plan.box(at.row, at.cell);
  return (
    <div
      className="canvas"
      tabIndex={0}
      role="application"
      aria-label={model}
      onKeyDown={press}
      onFocus={() => setAt((was) => was ?? { row: 0, cell: 0 })}
      onBlur={() => {
        setAt(null);
        onHover(null, null);
      }}
    >
      <canvas
        ref={canvas}
        onPointerMove={(event) => {
          const found = hit(event);
          if (found) point(found.row, found.cell);
          else onHover(null, null);
        }}
        onPointerLeave={() => onHover(null, null)}
        onClick={(event) => {
          const found = hit(event as unknown as PointerEvent);
          if (found) open(found.row, found.cell);
        }}
      />
      {ring && <i className="ring" style={{ left: ring.x - 2, top: ring.y - 2, width: ring.width + 4, height: ring.height + 4 }} />}
    </div>
  );
}
