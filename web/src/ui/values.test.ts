import { expect, test } from "vitest";
import { bytesOf, writtenBytes } from "./values";

test.each([0, 1, 1000, 1024, 1536, 500 * 1024 ** 3, 2 * 1024 ** 4, 1024 ** 5])("%d bytes are written so that they can be read again", (bytes) => {
  expect(bytesOf(writtenBytes(bytes))).toBe(bytes);
});

test("whole units are written with their letter", () => {
  expect([0, 1536, 500 * 1024 ** 3].map(writtenBytes)).toEqual(["0", "1536", "500G"]);
});
