import { tint } from "../ui/people";
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

/** A node's number where all names begin alike, else its name. */
export function naming(rows: Row[]): (row: Row) => string {
  const stem = rows[0]?.node.name.replace(/\d+$/, "") ?? "";
  const alike = rows.every(({ node }) => node.name.startsWith(stem) && /^\d+$/.test(node.name.slice(stem.length)));
  return ({ node }) => (alike ? node.name.slice(stem.length) : node.name.slice(0, 12));
}

export type Palette = Record<string, string>;

export function palette(): Palette {
  const names = ["ember", "go", "wait", "warn", "out", "edge", "bad", "bad-w", "text2", "text3", "surface", "mono"];
  for (let tint = 1; tint <= 8; tint += 1) names.push(`p${tint}`);
  return Object.fromEntries(names.map((name) => [name, token(name)]));
}

/** Draws the rows that are not as they were. */
export function draw(context: CanvasRenderingContext2D, plan: Plan, rows: Row[], before: Row[], colours: Palette, fits: number | null, person: string | null): void {
  context.font = `500 11px ${colours["mono"]}`;
  context.textBaseline = "middle";
  rows.forEach((row, index) => {
    if (before[index] === row) return;
    const area = plan.rowBox(index);
    context.clearRect(area.x, area.y, area.width, area.height);
    const able = fits !== null && row.free >= fits;
    context.globalAlpha = fits !== null && !able ? 0.28 : 1;
    context.fillStyle = (able ? colours["go"] : colours["text3"]) as string;
    context.fillText(plan.name(row), area.x, area.y + STEP / 2);
    row.cells.forEach((cell, at) => {
      const box = plan.box(index, at);
      if (!box) return;
      const alpha = context.globalAlpha;
      if (person !== null && cell.gpu.owner !== person) context.globalAlpha = 0.28;
      drawCell(context, box, cell, colours);
      context.globalAlpha = alpha;
    });
    context.globalAlpha = 1;
  });
}

const HOLLOW: Partial<Record<Kind, string>> = { free: "go", reserved: "wait", outside: "out", drained: "edge", silent: "edge" };

function hatch(context: CanvasRenderingContext2D, { x, y, width, height }: Box, colour: string): void {
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

function drawCell(context: CanvasRenderingContext2D, box: Box, cell: Cell, colours: Palette): void {
  const { x, y, width, height } = box;
  const colour = (name: string) => colours[name] as string;
  if (cell.kind === "mine" || cell.kind === "others") {
    context.fillStyle = colour(cell.kind === "mine" ? "ember" : `p${tint(cell.gpu.owner ?? "")}`);
    const busy = cell.use?.[0] ?? null;
    const level = busy === null ? height : Math.max(2, Math.round((height * busy) / 100));
    if (level < height) {
      // What is not busy stays visible, so that the holder is.
      const alpha = context.globalAlpha;
      context.globalAlpha = alpha * 0.4;
      context.fillRect(x, y, width, height - level);
      context.globalAlpha = alpha;
    }
    context.fillRect(x, y + height - level, width, level);
    return;
  }
  if (cell.kind === "idle") return hatch(context, box, colour("warn"));
  const edge = HOLLOW[cell.kind];
  if (edge !== undefined) {
    context.strokeStyle = colour(edge);
    context.lineWidth = cell.kind === "free" || cell.kind === "reserved" ? 2 : 1;
    if (cell.kind === "drained") context.setLineDash([2, 2]);
    const inset = context.lineWidth / 2;
    context.strokeRect(x + inset, y + inset, width - 2 * inset, height - 2 * inset);
    context.setLineDash([]);
    context.fillStyle = colour(edge);
    if (cell.kind === "reserved") context.fillRect(x + width / 2 - 2, y + height / 2 - 2, 4, 4);
    if (cell.kind === "outside") context.fillText("!", x + width / 2 - 2, y + height / 2 + 1);
    if (cell.kind === "silent") context.fillText("?", x + width / 2 - 3, y + height / 2 + 1);
    return;
  }
  context.fillStyle = colour("bad-w");
  context.fillRect(x, y, width, height);
  context.strokeStyle = colour("bad");
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x + 3, y + 3);
  context.lineTo(x + width - 3, y + height - 3);
  context.moveTo(x + width - 3, y + 3);
  context.lineTo(x + 3, y + height - 3);
  context.stroke();
}
