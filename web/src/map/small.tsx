import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent } from "react";
import { useNavigate } from "react-router";
import { useWords } from "../i18n";
import { useTheme } from "../ui/theme";
import { refPath } from "../ui/values";
import { draw, layout, palette, sameShape, type Box, type Plan } from "./canvas";
import type { Cell, Picture, Row } from "./model";

interface Props {
  picture: Picture;
  fits: number | null;
  person: string | null;
  onNode: (name: string) => void;
  onHover: (cell: Cell | null, at: DOMRect | null) => void;
}

/** Many GPUs: one canvas for each model, words and focus as elements over it. */
export function SmallMap({ picture, ...rest }: Props) {
  const words = useWords().map;
  return (
    <div className="card small-map">
      {picture.models.map(({ model, rows, totals, largest }) => (
        <section key={model} aria-label={model}>
          <div className="group">
            <h2>{model}</h2>
            <span className="note">{words.nodesOf(rows.length, totals.free, largest)}</span>
          </div>
          <Group rows={rows} label={model} {...rest} />
        </section>
      ))}
    </div>
  );
}

function Group({ rows, label, fits, person, onNode, onHover }: Omit<Props, "picture"> & { rows: Row[]; label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [at, setAt] = useState<{ row: number; cell: number } | null>(null);
  const theme = useTheme();
  const navigate = useNavigate();
  const shape = useRef(rows);
  if (!sameShape(shape.current, rows)) shape.current = rows;
  const plan = useMemo(() => layout(shape.current, width), [shape.current, width]);
  const drawn = useRef<{ rows: Row[]; plan: Plan | null; key: string }>({ rows: [], plan: null, key: "" });
  const again = useRef(() => {});

  useEffect(() => {
    const element = canvas.current as HTMLCanvasElement;
    const watch = new ResizeObserver(() => setWidth(element.parentElement?.clientWidth ?? 0));
    watch.observe(element.parentElement as HTMLElement);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    const element = canvas.current as HTMLCanvasElement;
    if (width === 0) return;
    const scale = window.devicePixelRatio || 1;
    const key = `${width} ${scale} ${theme} ${fits} ${person}`;
    const whole = drawn.current.key !== key || drawn.current.plan !== plan;
    if (whole) {
      element.width = Math.round(width * scale);
      element.height = Math.round(plan.height * scale);
      element.style.height = `${plan.height}px`;
    }
    const context = element.getContext("2d");
    if (context === null) return;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    const paint = (before: Row[]) => draw(context, plan, rows, before, palette(theme), fits, person);
    paint(whole ? [] : drawn.current.rows);
    drawn.current = { rows, plan, key };
    again.current = () => paint([]);
    if (whole && document.fonts.status === "loading") void document.fonts.ready.then(() => again.current());
  }, [rows, width, plan, theme, fits, person]);

  const hit = (event: PointerEvent) => {
    const bounds = event.currentTarget.getBoundingClientRect();
    return plan.find(event.clientX - bounds.left, event.clientY - bounds.top);
  };
  const rectOf = (box: Box) => {
    const bounds = (canvas.current as HTMLCanvasElement).getBoundingClientRect();
    return new DOMRect(bounds.left + box.x, bounds.top + box.y, box.width, box.height);
  };
  const point = (row: number, cell: number) => {
    const found = rows[row]?.cells[cell];
    const box = plan.box(row, cell);
    if (found && box) onHover(found, rectOf(box));
  };
  const open = (row: number, cell: number) => {
    const found = rows[row]?.cells[cell];
    if (found?.gpu.job) navigate(`/jobs/${refPath(found.gpu.job)}`);
    else if (rows[row]) onNode(rows[row].node.name);
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
      aria-label={label}
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
