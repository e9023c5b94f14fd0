import { expect, test } from "vitest";
import { plan, type Picked } from "./plan";

const picked = (path: string, size: number, changed = 1): Picked => {
  const file = new File([], path, { lastModified: changed });
  Object.defineProperty(file, "size", { value: size });
  return { path, file };
};

const MB = 1_048_576;

test("ten thousand small files go in a few archives, each file in one of them", () => {
  const all = Array.from({ length: 10_000 }, (_, at) => picked(`tree/${at % 100}/f${at}`, 2000));
  const pieces = plan(all);
  expect(pieces.length).toBeLessThan(15);
  expect(pieces.every((piece) => piece.kind === "bundle" && piece.bytes <= 16 * MB)).toBe(true);
  expect(new Set(pieces.flatMap((piece) => piece.picked.map(({ path }) => path))).size).toBe(10_000);
});

test("a large file goes by itself, after the small ones", () => {
  const pieces = plan([picked("model.bin", 5000 * MB), ...Array.from({ length: 5 }, (_, at) => picked(`s${at}`, 10))]);
  expect(pieces.map((piece) => [piece.kind, piece.picked.length])).toEqual([["bundle", 5], ["file", 1]]);
});

test("a few small files need no archive", () => {
  expect(plan([picked("a", 1), picked("b", 2)]).map((piece) => piece.kind)).toEqual(["file", "file"]);
});

test("an empty folder needs one", () => {
  expect(plan([{ path: "empty", file: null }]).map((piece) => piece.kind)).toEqual(["bundle"]);
});

test("chosen again in another order, the pieces are known again; a changed file is not", () => {
  const all = Array.from({ length: 3000 }, (_, at) => picked(`t/${at}`, 100));
  const prints = (some: Picked[]) => plan(some).map((piece) => piece.fingerprint);
  expect(prints([...all].reverse())).toEqual(prints(all));
  const other = prints(all.map((one, at) => (at === 5 ? picked(one.path, 100, 2) : one)));
  expect(other.filter((print) => !prints(all).includes(print)).length).toBe(1);
});
