import { expect, test } from "vitest";
import { ticksOf } from "./ticks";

test("times below an axis are round and leave room for now and for the edge", () => {
  for (const span of [600, 3_000, 7_000, 30_000, 65_000, 86_400]) {
    for (let now = 1_763_250_000; now < 1_763_260_800; now += 61) {
      const ticks = ticksOf(now, span);
      expect(ticks.length).toBeGreaterThan(0);
      expect(ticks.length).toBeLessThanOrEqual(7);
      expect(Math.min(...ticks)).toBeGreaterThanOrEqual(now + span * 0.09);
      expect(Math.max(...ticks)).toBeLessThan(now + span * 0.97);
      expect(ticks.every((at) => at % 300 === 0)).toBe(true);
    }
  }
});
