import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { archiveSize, end, header, join, padding, type Entry } from "./tar";

const text = (value: string) => new TextEncoder().encode(value);

function archive(files: [string, string][]): Uint8Array {
  const parts = files.flatMap(([path, content]) => {
    const bytes = text(content);
    return [header({ path, size: bytes.length, mtime: 1_700_000_000_000 }), bytes, new Uint8Array(padding(bytes.length))];
  });
  return join([...parts, end()]);
}

const names = (bytes: Uint8Array) =>
  execFileSync("tar", ["-tf", "-", "--quoting-style=literal", "--show-transformed-names"], { input: bytes, env: { ...process.env, LC_ALL: "C.UTF-8" } })
    .toString()
    .trimEnd()
    .split("\n");

test("tar reads names of every kind as they were", () => {
  const paths = ["a.txt", "数据/训练 集.csv", `${"long-".repeat(30)}/x`, "with\ttab", "😀/ü", "-dash", `${"深".repeat(80)}/${"名".repeat(85)}`];
  expect(names(archive(paths.map((path) => [path, "x"])))).toEqual(paths);
});

test("tar reads the bytes as they were", () => {
  const content = "z".repeat(1000);
  const found = execFileSync("tar", ["-xOf", "-", "b/训"], { input: archive([["a", "first"], ["b/训", content], ["c", ""]]), env: { ...process.env, LC_ALL: "C.UTF-8" } });
  expect(found.toString()).toBe(content);
});

test("the same files give the same bytes, of the length that was foretold", () => {
  const files: [string, string][] = [["a", "1"], ["数/据", "22"], ["x".repeat(300), "3".repeat(512)]];
  const entries: Entry[] = files.map(([path, content]) => ({ path, size: content.length, mtime: 0 }));
  expect(archive(files)).toEqual(archive(files));
  expect(archive(files).length).toBe(archiveSize(entries));
});

test("an empty folder is a folder", () => {
  const bytes = join([header({ path: "empty/空", size: 0, mtime: 0, folder: true }), end()]);
  expect(names(bytes)).toEqual(["empty/空/"]);
});

test("a size beyond 8 GB is told in a record", () => {
  const head = new TextDecoder().decode(header({ path: "big", size: 2 ** 40, mtime: 0 }));
  expect(head).toContain(`size=${2 ** 40}\n`);
});
