import { tint, TINTS } from "../ui/people";
import { token } from "../ui/theme";
import type { Cell, Kind, Row } from "./model";

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

interface At {
  row: number;
  cell: number;
}

export interface Plan {
  height: number;
  columns: number;
  label: number;
  cell: number;
  pitch: number; // from one GPU to the next
  name: (row: Row) => string;
  box: (row: number, cell: number) => Box | undefined;
  rowBox: (row: number) => Box;
  find: (x: number, y: number) => At | null;
  step: (from: At, key: string, whole: boolean) => At;
}

const CELL = 13;
const GAP = 3;
const STEP = 18;
const BETWEEN = 18;

/** Nodes in columns, from left to right and by name. Cells never under 11 pixels. */
export function layout(rows: Row[], width: number): Plan {
  const widest = Math.max(1, ...rows.map((row) => row.cells.length));
  const name = naming(rows);
  const label = Math.min(96, 10 + 7 * Math.max(2, ...rows.map((row) => name(row).length)));
  const natural = label + widest * (CELL + GAP) + BETWEEN;
  const columns = Math.max(1, Math.min(rows.length, Math.floor((width + BETWEEN) / natural)));
  const column = (width + BETWEEN) / columns;
  const cell = Math.max(8, Math.min(26, (column - BETWEEN - label) / widest - GAP));
  const box = (row: number, index: number): Box | undefined =>
    rows[row]?.cells[index] && {
      x: (row % columns) * column + label + index * (cell + GAP),
      y: Math.floor(row / columns) * STEP + 2,
      width: cell,
      height: CELL,
    };
  return {
    height: Math.ceil(rows.length / columns) * STEP + 4,
    columns,
    label,
    cell,
    pitch: cell + GAP,
    name,
    box,
    rowBox: (row) => ({ x: (row % columns) * column, y: Math.floor(row / columns) * STEP, width: column, height: STEP }),
    find(x, y) {
      const row = Math.floor(y / STEP) * columns + Math.floor(x / column);
      const index = Math.floor(((x % column) - label) / (cell + GAP));
      return rows[row]?.cells[index] ? { row, cell: index } : null;
    },
    step({ row, cell: index }, key, whole) {
      const last = (rows[row]?.cells.length ?? 1) - 1;
      const by = { ArrowUp: -columns, ArrowDown: columns, ArrowLeft: -1, ArrowRight: 1 }[key] ?? 0;
      if (!whole && key === "ArrowLeft" && index > 0) return { row, cell: index - 1 };
      if (!whole && key === "ArrowRight" && index < last) return { row, cell: index + 1 };
      const next = Math.min(rows.length - 1, Math.max(0, row + by));
      const end = (rows[next]?.cells.length ?? 1) - 1;
      if (Math.abs(by) > 1 || whole) return { row: next, cell: Math.min(index, end) };
      return { row: next, cell: by < 0 ? end : 0 };
    },
  };
}

/** Whether a plan for these is one for those. */
export function sameShape(rows: Row[], others: Row[]): boolean {
  if (rows === others) return true;
  return (
    rows.length === others.length &&
    rows.every((row, index) => row.node.name === others[index]?.node.name && row.cells.length === others[index]?.cells.length)
  );
}

/** A node's number where all names begin alike, else its name. */
export function naming(rows: Row[]): (row: Row) => string {
  const stem = rows[0]?.node.name.replace(/\d+$/, "") ?? "";
  const alike = rows.every(({ node }) => node.name.startsWith(stem) && /^\d+$/.test(node.name.slice(stem.length)));
  return ({ node }) => (alike ? node.name.slice(stem.length) : node.name.slice(0, 12));
}

const NAMES = ["ember", "go", "wait", "warn", "out", "edge", "bad", "bad-w", "text3", "mono"] as const;
export type Palette = Record<(typeof NAMES)[number], string> & { people: string[] };

const palettes = new Map<string, Palette>();

/** Looked up once for a theme: asking for a style makes the browser work out all of them. */
export function palette(theme: string): Palette {
  const known = palettes.get(theme);
  if (known !== undefined) return known;
  const named = Object.fromEntries(NAMES.map((name) => [name, token(name)])) as Record<(typeof NAMES)[number], string>;
  const found = { ...named, people: Array.from({ length: TINTS }, (_, index) => token(`p${index + 1}`)) };
  palettes.set(theme, found);
  return found;
}

const FADED = 0.28;

export interface Look {
  colours: Palette;
  fits: number | null;
  person: string | null;
}

/** Rectangles by how they are drawn, those alike at once: one by one, a wave of many costs several times as much. */
class Together {
  private readonly paths = new Map<number, Map<string, Path2D>>();

  add(alpha: number, colour: string, x: number, y: number, width: number, height: number): void {
    let colours = this.paths.get(alpha);
    if (colours === undefined) this.paths.set(alpha, (colours = new Map<string, Path2D>()));
    let path = colours.get(colour);
    if (path === undefined) colours.set(colour, (path = new Path2D()));
    path.rect(x, y, width, height);
  }

  draw(context: CanvasRenderingContext2D, how: (colour: string, path: Path2D) => void): void {
    for (const [alpha, colours] of this.paths) {
      context.globalAlpha = alpha;
      for (const [colour, path] of colours) how(colour, path);
    }
  }
}

/** Draws the rows that are not as they were; their names, which cost most, only where they look different. */
export function draw(context: CanvasRenderingContext2D, plan: Plan, rows: Row[], before: Row[], look: Look): void {
  const { colours, fits, person } = look;
  const filled = new Together();
  const free = new Together();
  context.font = `500 11px ${colours.mono}`;
  context.textBaseline = "middle";
  clear(context, plan, rows, before);
  for (const [index, row] of rows.entries()) {
    const was = before[index];
    if (was === row) continue;
    const area = plan.rowBox(index);
    const able = fits !== null && row.free >= fits;
    const alpha = fits !== null && !able ? FADED : 1;
    const named = was?.node.name === row.node.name && able === (fits !== null && was.free >= fits);
    if (!named) {
      context.clearRect(area.x, area.y, plan.label, area.height);
      context.globalAlpha = alpha;
      context.fillStyle = able ? colours.go : colours.text3;
      context.fillText(plan.name(row), area.x, area.y + STEP / 2);
    }
    let x = area.x + plan.label;
    const y = area.y + 2;
    for (const cell of row.cells) {
      const shown = person !== null && cell.gpu.owner !== person ? FADED : alpha;
      if (cell.kind === "mine" || cell.kind === "others") fill(filled, shown, x, y, plan.cell, cell, colours);
      else if (cell.kind === "free") free.add(shown, colours.go, x + 1, y + 1, plan.cell - 2, CELL - 2);
      else {
        context.globalAlpha = shown;
        drawCell(context, x, y, plan.cell, CELL, cell.kind, colours);
      }
      x += plan.pitch;
    }
  }
  filled.draw(context, (colour, path) => {
    context.fillStyle = colour;
    context.fill(path);
  });
  context.lineWidth = 2;
  free.draw(context, (colour, path) => {
    context.strokeStyle = colour;
    context.stroke(path);
  });
  context.globalAlpha = 1;
}

/** The cells of the rows that are not as they were: neighbours in a column at once. */
function clear(context: CanvasRenderingContext2D, plan: Plan, rows: Row[], before: Row[]): void {
  for (let column = 0; column < plan.columns; column += 1) {
    let first = -1;
    for (let index = column; index < rows.length + plan.columns; index += plan.columns) {
      const changed = index < rows.length && rows[index] !== before[index];
      if (changed && first < 0) first = index;
      if (changed || first < 0) continue;
      const { x, y, width, height } = plan.rowBox(first);
      context.clearRect(x + plan.label, y, width - plan.label, ((index - first) / plan.columns) * height);
      first = -1;
    }
  }
}

function fill(filled: Together, alpha: number, x: number, y: number, width: number, cell: Cell, colours: Palette): void {
  const colour = (cell.kind === "mine" ? colours.ember : colours.people[tint(cell.gpu.owner ?? "") - 1]) as string;
  const busy = cell.use?.[0] ?? null;
  const level = busy === null ? CELL : Math.max(2, Math.round((CELL * busy) / 100));
  filled.add(alpha, colour, x, y + CELL - level, width, level);
  // What is not busy stays visible, so that the holder is.
  if (level < CELL) filled.add(alpha * 0.4, colour, x, y, width, CELL - level);
}

const HOLLOW: Partial<Record<Kind, "wait" | "out" | "edge">> = { reserved: "wait", outside: "out", drained: "edge", silent: "edge" };

function hatch(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number, colour: string): void {
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  context.beginPath();
  for (let at = 4; at < width + height; at += 4) {
    context.moveTo(x + Math.min(at, width), y + Math.max(0, at - width));
    context.lineTo(x + Math.max(0, at - height), y + Math.min(at, height));
  }
  context.stroke();
}

/** The kinds of which there are few. */
function drawCell(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number, kind: Kind, colours: Palette): void {
  if (kind === "idle") return hatch(context, x, y, width, height, colours.warn);
  const edge = HOLLOW[kind];
  if (edge !== undefined) {
    const colour = colours[edge];
    const line = kind === "reserved" ? 2 : 1;
    context.strokeStyle = colour;
    context.lineWidth = line;
    if (kind === "drained") context.setLineDash([2, 2]);
    context.strokeRect(x + line / 2, y + line / 2, width - line, height - line);
    if (kind === "drained") context.setLineDash([]);
    context.fillStyle = colour;
    if (kind === "reserved") context.fillRect(x + width / 2 - 2, y + height / 2 - 2, 4, 4);
    if (kind === "outside") context.fillText("!", x + width / 2 - 2, y + height / 2 + 1);
    if (kind === "silent") context.fillText("?", x + width / 2 - 3, y + height / 2 + 1);
    return;
  }
  context.fillStyle = colours["bad-w"];
  context.fillRect(x, y, width, height);
  context.strokeStyle = colours.bad;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x + 3, y + 3);
  context.lineTo(x + width - 3, y + height - 3);
  context.moveTo(x + width - 3, y + 3);
  context.lineTo(x + 3, y + height - 3);
  context.stroke();
}
