import type { Node, Use } from "../api/stream";

type Gpu = Node["gpus"][number];

/** In the order of the legend. */
export const KINDS = ["mine", "others", "free", "reserved", "idle", "outside", "drained", "down", "silent"] as const;
export type Kind = (typeof KINDS)[number];

const BITS = Object.fromEntries(KINDS.map((kind, index) => [kind, 1 << index])) as Record<Kind, number>;

/** Whether a row or a picture has one of these. */
export function has({ kinds }: { kinds: number }, ...some: Kind[]): boolean {
  return some.some((kind) => (kinds & BITS[kind]) !== 0);
}

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
  /** Made when asked for: a map of many GPUs does without. */
  readonly blocks: Block[];
  model: string;
  free: number;
  totals: Totals;
  kinds: number; // a bit for each kind there is
  mine: number;
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
  kinds: number;
}

/** All that the map draws, from what the stream told. By name, and never in another order. */
export function picture(nodes: ReadonlyMap<string, Node>, usage: ReadonlyMap<string, readonly Use[]>, me: string): Picture {
  const prefix = `${me}/`;
  const now = Date.now() / 1000;
  const rows = inOrder(nodes).map((node) => keptRow(node, usage.get(node.name), prefix, now));
  const models = new Map<string, Row[]>();
  let widest = 1;
  let mine = 0;
  let kinds = 0;
  for (const row of rows) {
    widest = Math.max(widest, row.cells.length);
    mine += row.mine;
    kinds |= row.kinds;
    if (row.cells.length === 0) continue;
    const alike = models.get(row.model);
    if (alike === undefined) models.set(row.model, [row]);
    else alike.push(row);
  }
  return {
    rows,
    totals: sum(rows),
    models: [...models].map(([model, each]) => ({ model, rows: each, totals: sum(each), largest: each.reduce((most, row) => Math.max(most, row.free), 0) })),
    largest: rows.reduce((best, { free, node }) => (free > best.free ? { free, node: node.name } : best), { free: 0, node: "" }),
    widest,
    mine,
    kinds,
  };
}

const collator = new Intl.Collator("en", { numeric: true });
let order: string[] = [];

/** Sorted only when nodes came or went. */
function inOrder(nodes: ReadonlyMap<string, Node>): Node[] {
  if (order.length !== nodes.size || !order.every((name) => nodes.has(name))) {
    order = [...nodes.keys()].sort(collator.compare);
    kept.clear();
  }
  return order.map((name) => nodes.get(name) as Node);
}

const kept = new Map<string, { prefix: string; row: Row }>();

/** The same row while nothing about its node has changed: what is drawn stays drawn. */
function keptRow(node: Node, use: readonly Use[] | undefined, prefix: string, now: number): Row {
  const found = kept.get(node.name);
  if (found !== undefined && found.row.node === node && found.prefix === prefix && found.row.use === use) return found.row;
  const row = rowOf(node, use, prefix, now);
  kept.set(node.name, { prefix, row });
  return row;
}

function rowOf(node: Node, use: readonly Use[] | undefined, prefix: string, now: number): Row {
  const idle = idleJobs(node, use, now);
  const totals = nothing();
  let kinds = 0;
  let held = 0;
  let free = 0;
  let model = "";
  const cells = node.gpus.map((gpu, index) => {
    const mine = gpu.state === "used" && isIn(gpu.jobs, prefix);
    const kind = kindOf(gpu, node, mine, idle !== null && gpu.jobs.length > 0 && gpu.jobs.every((job) => idle.has(job)));
    count(totals, gpu, kind);
    kinds |= BITS[kind];
    if (mine) held += 1;
    if (gpu.state === "free") free += 1;
    if (index === 0) model = gpu.model;
    else if (gpu.model !== node.gpus[index - 1]?.model) model = [...new Set(node.gpus.map((each) => each.model))].join(" + ");
    return { gpu, kind, mine, use: use?.[index] };
  });
  let blocks: Block[] | undefined;
  return {
    node,
    use,
    cells,
    get blocks() {
      return (blocks ??= blocksOf(cells));
    },
    model,
    free,
    totals,
    kinds,
    mine: held,
  };
}

function isIn(jobs: readonly string[], prefix: string): boolean {
  for (const job of jobs) if (job.startsWith(prefix)) return true;
  return false;
}

/** The jobs of a node that use none of their GPUs: where one is at work, another may rest. */
function idleJobs(node: Node, use: readonly Use[] | undefined, now: number): Set<string> | null {
  if (use === undefined || !node.gpus.some((gpu, index) => idleSince(gpu, use[index], now) !== null)) return null;
  const idle = new Set(node.gpus.flatMap((gpu) => gpu.jobs));
  node.gpus.forEach((gpu, index) => {
    if (idleSince(gpu, use[index], now) === null) gpu.jobs.forEach((job) => idle.delete(job));
  });
  return idle;
}

const freeOn = (node: Node) => node.gpus.reduce((count, gpu) => count + (gpu.state === "free" ? 1 : 0), 0);

/** The node with most free GPUs; of equals, the first. */
export function mostFree(nodes: Iterable<Node>): { free: number; node: string } {
  let best = { free: 0, node: "" };
  for (const node of nodes) {
    const free = freeOn(node);
    if (free > best.free) best = { free, node: node.name };
  }
  return best;
}

const IDLE_AFTER = 900; // seconds, as on the server

/** Since when a held GPU is unused; what it did before its job began does not count. */
export function idleSince(gpu: Gpu, use: Use | undefined, now = Date.now() / 1000): number | null {
  if (use?.[2] === undefined || gpu.since === null) return null;
  const since = Math.max(use[2], gpu.since);
  return now - since >= IDLE_AFTER ? since : null;
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

/** Work that is not of the platform has no reference; this tells one from the other. */
function outsideRef({ outside }: Gpu): string | null {
  return outside == null ? null : `${outside.user}/${outside.engine}:${outside.id}`;
}

function blocksOf(cells: Cell[]): Block[] {
  const blocks: Block[] = [];
  for (const cell of cells) {
    const job = cell.gpu.job ?? cell.gpu.kept_for ?? outsideRef(cell.gpu);
    const last = blocks.at(-1);
    if (last !== undefined && last.kind === cell.kind && last.job === job) last.cells.push(cell);
    else blocks.push({ kind: cell.kind, mine: cell.mine, job, owner: cell.gpu.owner, cells: [cell] });
  }
  return blocks;
}

const nothing = (): Totals => ({ total: 0, free: 0, reserved: 0, used: 0, idle: 0, outside: 0, out: 0 });

/** As the server adds up: total = free + reserved + used + outside + out; what nobody knows is out, too. */
function count(totals: Totals, gpu: Gpu, kind: Kind): void {
  totals.total += 1;
  totals.free += gpu.free;
  if (gpu.state === "used") totals.used += 1 - gpu.free;
  else if (gpu.state === "reserved") totals.reserved += 1;
  else if (gpu.state === "outside") totals.outside += 1 - gpu.free;
  else if (gpu.state !== "free") totals.out += 1 - gpu.free;
  if (kind === "idle") totals.idle += 1;
}

function sum(rows: Row[]): Totals {
  const totals = nothing();
  for (const { totals: each } of rows) {
    totals.total += each.total;
    totals.free += each.free;
    totals.reserved += each.reserved;
    totals.used += each.used;
    totals.idle += each.idle;
    totals.outside += each.outside;
    totals.out += each.out;
  }
  return totals;
}
