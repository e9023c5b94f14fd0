import type { Schemas } from "./client";

export type Node = Schemas["Node"];
type Gpu = Node["gpus"][number];

/** Of a node told before: what may change, without what is empty. */
type BriefGpu = Pick<Gpu, "state"> & Partial<Gpu>;
type BriefNode = Pick<Node, "name" | "up" | "cpus_free" | "memory_free"> & Partial<Omit<Node, "gpus">> & { gpus: BriefGpu[] };

export interface NodeNews {
  nodes: (Node | BriefNode)[];
  gone: string[];
}

/** The nodes after some news of them. */
export function applyNews(known: ReadonlyMap<string, Node> | null, news: NodeNews): Map<string, Node> {
  const nodes = new Map(known ?? []);
  for (const name of news.gone) nodes.delete(name);
  for (const node of news.nodes) {
    if (isWhole(node)) {
      nodes.set(node.name, node);
      continue;
    }
    const before = nodes.get(node.name);
    if (before !== undefined) nodes.set(node.name, after(before, node));
  }
  return nodes;
}

const isWhole = (node: Node | BriefNode): node is Node => node.cpus !== undefined;

const NO_JOBS: string[] = [];

// Written out: a large cluster sends 1,600 GPUs at once, and copying objects key by key is slow.
function after(before: Node, now: BriefNode): Node {
  const { name, labels, address, cpus, memory, engine } = before;
  const gpus: Gpu[] = [];
  for (let index = 0; index < now.gpus.length; index++) {
    const gpu = now.gpus[index] as BriefGpu;
    const same = before.gpus[index] as Gpu;
    const jobs = gpu.jobs ?? NO_JOBS;
    gpus.push({
      node: same.node,
      index: same.index,
      model: same.model,
      uuid: same.uuid,
      memory: same.memory,
      state: gpu.state,
      free: gpu.free ?? (gpu.state === "free" ? 1 : 0),
      job: jobs[0] ?? null,
      jobs,
      owner: gpu.owner ?? null,
      since: gpu.since ?? null,
      ends: gpu.ends ?? null,
      kept_for: gpu.kept_for ?? null,
      note: gpu.note ?? "",
      outside: gpu.outside ?? null,
    } as Gpu);
  }
  return {
    name,
    up: now.up,
    drained: now.drained ?? false,
    drain_reason: now.drain_reason ?? "",
    labels,
    address,
    cpus,
    cpus_free: now.cpus_free,
    memory,
    memory_free: now.memory_free,
    gpus,
    note: now.note ?? "",
    note_en: now.note_en ?? "",
    note_zh: now.note_zh ?? "",
    engine,
    unknown_since: now.unknown_since ?? null,
  };
}
