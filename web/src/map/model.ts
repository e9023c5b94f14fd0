import type { Node, Use } from "../api/stream";

type Gpu = Node["gpus"][number];

export type Kind = "free" | "mine" | "others" | "idle" | "reserved" | "outside" | "drained" | "down" | "silent";

export interface Cell {
  gpu: Gpu;
  kind: Kind;
  mine: boolean;
  use: Use | undefined;
}

/** Neighbouring GPUs of one job, or free ones: drawn as one. */
export interface Block {
  kind: Kind;
  mine: boolean;
  job: string | null;
  owner: string | null;
  cells: Cell[];
}

export interface Row {
  node: Node;
  use: readonly Use[] | undefined;
  cells: Cell[];
  blocks: Block[];
  model: string;
  free: number;
}

export interface Totals {
  total: number;
  free: number;
  reserved: number;
  used: number;
  idle: number; // of those used
  outside: number;
  out: number;
}

export interface Picture {
  rows: Row[];
  totals: Totals;
  models: { model: string; rows: Row[]; totals: Totals; largest: number }[];
  largest: { free: number; node: string };
  widest: number;
  mine: number;
}

/** All that the map draws, from what the stream told. By name, and never in another order. */
export function picture(nodes: ReadonlyMap<string, Node>, usage: ReadonlyMap<string, readonly Use[]>, me: string): Picture {
  const rows = [...nodes.values()]
    .sort((a, b) => collator.compare(a.name, b.name))
    .map((node) => keptRow(node, usage.get(node.name), me));
  const models = new Map<string, Row[]>();
  for (const row of rows) if (row.cells.length > 0) models.set(row.model, [...(models.get(row.model) ?? []), row]);
  return {
    rows,
    totals: sum(rows),
    models: [...models].map(([model, each]) => ({
      model,
      rows: each,
      totals: sum(each),
      largest: Math.max(0, ...each.map((row) => row.free)),
    })),
    largest: mostFree(rows.map((row) => row.node)),
    widest: Math.max(1, ...rows.map((row) => row.cells.length)),
    mine: rows.reduce((count, row) => count + row.cells.filter((cell) => cell.mine).length, 0),
  };
}

const collator = new Intl.Collator("en", { numeric: true });

const kept = new WeakMap<Node, { me: string; row: Row }>();

/** The same row while nothing about its node has changed: what is drawn stays drawn. */
function keptRow(node: Node, use: readonly Use[] | undefined, me: string): Row {
  const found = kept.get(node);
  if (found !== undefined && found.me === me && found.row.use === use) return found.row;
  const row = rowOf(node, use, me);
  kept.set(node, { me, row });
  return row;
}

function rowOf(node: Node, use: readonly Use[] | undefined, me: string): Row {
  // A job that uses one of its GPUs is at work, also where another one rests.
  const working = new Set(node.gpus.filter((gpu, index) => idleSince(gpu, use?.[index]) === null).flatMap((gpu) => gpu.jobs));
  const cells = node.gpus.map((gpu, index) => {
    const mine = gpu.state === "used" && gpu.jobs.some((ref) => ref.startsWith(`${me}/`));
    const idle = gpu.jobs.length > 0 && !gpu.jobs.some((job) => working.has(job));
    return { gpu, mine, use: use?.[index], kind: kindOf(gpu, node, mine, idle) };
  });
  const models = new Set(node.gpus.map((gpu) => gpu.model));
  return {
    node,
    use,
    cells,
    blocks: blocksOf(cells),
    model: [...models].join(" + "),
    free: freeOn(node),
  };
}

const freeOn = (node: Node) => node.gpus.filter((gpu) => gpu.state === "free").length;

/** The node with most free GPUs; of equals, the first. */
export function mostFree(nodes: Iterable<Node>): { free: number; node: string } {
  let best = { free: 0, node: "" };
  for (const node of nodes) if (freeOn(node) > best.free) best = { free: freeOn(node), node: node.name };
  return best;
}

const IDLE_AFTER = 900; // seconds, as on the server

/** Since when a held GPU is unused; what it did before its job began does not count. */
export function idleSince(gpu: Gpu, use: Use | undefined): number | null {
  if (use?.[2] === undefined || gpu.since === null) return null;
  const since = Math.max(use[2], gpu.since);
  return Date.now() / 1000 - since >= IDLE_AFTER ? since : null;
}

function kindOf(gpu: Gpu, node: Node, mine: boolean, idle: boolean): Kind {
  if (!node.up) return "silent";
  switch (gpu.state) {
    case "used":
      return idle ? "idle" : mine ? "mine" : "others";
    case "unknown":
      return "silent";
    case "reserved":
    case "outside":
    case "drained":
    case "down":
      return gpu.state;
    default:
      return "free";
  }
}

function blocksOf(cells: Cell[]): Block[] {
  const blocks: Block[] = [];
  for (const cell of cells) {
    const job = cell.gpu.job ?? cell.gpu.kept_for ?? null;
    const last = blocks.at(-1);
    if (last !== undefined && last.kind === cell.kind && last.job === job) last.cells.push(cell);
    else blocks.push({ kind: cell.kind, mine: cell.mine, job, owner: cell.gpu.owner, cells: [cell] });
  }
  return blocks;
}

/** As the server adds up: total = free + reserved + used + outside + out; what nobody knows is out, too. */
export function sum(rows: Row[]): Totals {
  const totals: Totals = { total: 0, free: 0, reserved: 0, used: 0, idle: 0, outside: 0, out: 0 };
  for (const row of rows) {
    for (const { gpu, kind } of row.cells) {
      totals.total += 1;
      totals.free += gpu.free;
      if (gpu.state === "used") totals.used += 1 - gpu.free;
      else if (gpu.state === "reserved") totals.reserved += 1;
      else if (gpu.state === "outside") totals.outside += 1 - gpu.free;
      else if (gpu.state !== "free") totals.out += 1 - gpu.free;
      if (kind === "idle") totals.idle += 1;
    }
  }
  return totals;
}
