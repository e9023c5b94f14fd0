import { expect, test } from "vitest";
import { addressOf, ending, isIn, parentOf, pathAt, steps, wrongName } from "./paths";

test.each(["/userhome", "/userhome/a b/100%/c#d?e", "/mnt/share/lab/数据", "/userhome/\\xff", "/userhome/..a/...", '/userhome/<b>"'])("%s has an address and comes back", (path) => {
  expect(pathAt(new URL(addressOf(path), "http://h").pathname)).toBe(path);
});

test("half of a character is no path", () => {
  expect(pathAt("/files/%E6")).toBe(null);
  expect(pathAt("/files")).toBe(null);
  expect(pathAt("/files/")).toBe(null);
});

test("names that no file can have are told apart", () => {
  expect(["", "a/b", "..", "数".repeat(86), "ok"].map(wrongName)).toEqual(["empty", "slash", "dots", "long", null]);
});

test("a folder is not inside of one whose name only begins alike", () => {
  expect(isIn("/userhome/ab", "/userhome/a")).toBe(false);
  expect(isIn("/userhome/a/b", "/userhome/a")).toBe(true);
});

test("steps lead from the volume to the folder", () => {
  expect(steps("/mnt/share/lab/a/b", "/mnt/share/lab")).toEqual([{ name: "a", path: "/mnt/share/lab/a" }, { name: "b", path: "/mnt/share/lab/a/b" }]);
  expect(parentOf("/userhome/a")).toBe("/userhome");
});

test("a number goes before the ending", () => {
  expect(["a.tar.gz", "b.py", "README", ".bashrc", "v1.2"].map(ending)).toEqual([["a", ".tar.gz"], ["b", ".py"], ["README", ""], [".bashrc", ""], ["v1", ".2"]]);
});
