import { expect, test } from "vitest";
import { ROW, scrollTo, windowOf } from "./window";

test("a short list is as tall as its rows", () => {
  expect(windowOf(100, 0, 360)).toMatchObject({ height: 3600, first: 0, top: 0 });
  const middle = windowOf(100, 1800, 360);
  expect(middle.first).toBeLessThanOrEqual(50);
  expect(middle.last).toBeGreaterThanOrEqual(60);
  expect(middle.top).toBe(middle.first * ROW);
});

test.each([1_000, 500_000, 1_000_000, 5_000_000])("both ends of %i rows can be reached, and few are drawn", (total) => {
  const seen = 720;
  const { height } = windowOf(total, 0, seen);
  expect(height).toBeLessThanOrEqual(12_000_000);
  const end = windowOf(total, height - seen, seen);
  expect(end.last).toBe(total);
  expect(end.last - end.first).toBeLessThan(60);
  // The last row ends where the list does.
  expect(Math.abs(end.top + (end.last - end.first) * ROW - height)).toBeLessThan(2);
});

test.each([0, 1, 77, 499_999, 999_999])("row %i of a million comes into view", (row) => {
  const seen = 720;
  const at = scrollTo(row, 1_000_000, 3_000_000, seen);
  const found = windowOf(1_000_000, at, seen);
  const top = found.top + (row - found.first) * ROW;
  expect(top).toBeGreaterThanOrEqual(at - 1);
  expect(top + ROW).toBeLessThanOrEqual(at + seen + 1);
});
