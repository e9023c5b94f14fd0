import { expect, test } from "vitest";
import { nearer } from "./lagging";
import type { Row } from "./model";

const row = (name: string, free: number) => ({ node: { name }, free }) as unknown as Row;
const rows = (count: number, free: number) => Array.from({ length: count }, (_, at) => row(`n${at}`, free));

/** All that is shown on the way, from nothing or from some rows. */
function way(from: readonly Row[], to: readonly Row[]): (readonly Row[])[] {
  const steps = [from];
  for (let last = from; ; steps.push(last)) {
    const next = nearer(last, to);
    if (next === last) return steps;
    last = next;
  }
}

test("few rows are shown at once, many in parts from the first to the last", () => {
  const [some, many] = [rows(20, 1), rows(400, 1)];
  expect(way([], some)).toEqual([[], some]);
  expect(way([], many).map((each) => each.length)).toEqual([0, 50, 100, 150, 200, 250, 300, 350, 400]);
  expect(way([], many).at(-1)).toEqual(many);
});

test("only what changed is replaced, and in the end everything is as it should be", () => {
  const before = rows(200, 1);
  const after = before.map((each, at) => (at === 3 || at > 150 ? row(each.node.name, 0) : each));
  const steps = way(before, after);
  expect(steps.at(-1)).toEqual(after);
  expect(steps.length).toBe(4); // as they were, around row 3, from 151, from 176
  for (const step of steps) expect(step[100]).toBe(before[100]);
});

test("when nodes come or go no node is missing or there twice", () => {
  const before = rows(200, 1);
  const without = before.filter((_, at) => at !== 50);
  expect(nearer(before, without)).toBe(without);
  expect(nearer(without, before)).toBe(before);
  expect(nearer(before, before.slice(0, 100))).toEqual(before.slice(0, 100));
  expect(nearer(before, [])).toEqual([]);
});
