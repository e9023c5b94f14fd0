import { expect, test } from "vitest";
import { applyNews, type Node, type NodeNews } from "./nodes";

const GPU = { node: "n1", model: "A100", uuid: "", memory: 80, state: "free", free: 1, job: null, jobs: [], owner: null, since: null };
const NODE = {
  name: "n1", up: true, drained: false, drain_reason: "", labels: ["fast"], address: "", cpus: 8, cpus_free: 8, memory: 64, memory_free: 64,
  gpus: [{ ...GPU, index: 0 }, { ...GPU, index: 1 }], note: "", note_en: "", note_zh: "", engine: "local", unknown_since: null,
} as unknown as Node;
const first = applyNews(null, { nodes: [NODE], gone: [] });

const tell = (nodes: unknown[], gone: string[] = []) => applyNews(first, { nodes, gone } as NodeNews);

test("brief news change what they say and keep the hardware", () => {
  const used = { state: "used", jobs: ["ann/a-1"], owner: "ann", since: 5 };
  const node = tell([{ name: "n1", up: true, cpus_free: 4, memory_free: 32, gpus: [used, { state: "free" }] }]).get("n1") as Node;
  expect(node).toMatchObject({ cpus: 8, cpus_free: 4, labels: ["fast"], engine: "local", drained: false, unknown_since: null });
  expect(node.gpus[0]).toMatchObject({ model: "A100", index: 0, free: 0, job: "ann/a-1", jobs: ["ann/a-1"], owner: "ann", since: 5 });
  expect(node.gpus[1]).toMatchObject({ index: 1, state: "free", free: 1, job: null, jobs: [], owner: null, since: null, note: "" });
});

test("what was said before does not stay when it is left out", () => {
  const away = tell([{ name: "n1", up: false, cpus_free: 8, memory_free: 64, unknown_since: 3, drained: true, note: "lost", gpus: [{ state: "down", note: "x" }, { state: "down" }] }]);
  const back = applyNews(away, { nodes: [{ name: "n1", up: true, cpus_free: 8, memory_free: 64, gpus: [{ state: "free" }, { state: "free" }] }], gone: [] } as NodeNews);
  expect(back.get("n1")).toEqual({ ...NODE, gpus: NODE.gpus.map((gpu) => ({ ...gpu, ends: null, kept_for: null, note: "", outside: null })) });
});

test("a node that is gone is gone, and of one that is not known there is nothing to tell", () => {
  expect([...tell([], ["n1"]).keys()]).toEqual([]);
  expect([...tell([{ name: "n9", up: true, cpus_free: 1, memory_free: 1, gpus: [] }]).keys()]).toEqual(["n1"]);
});
