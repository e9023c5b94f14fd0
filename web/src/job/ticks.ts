const STEPS = [300, 600, 900, 1800, 3600, 7200, 10_800, 14_400]; // seconds
const MOST = 7;
// Parts of the width: the word for now stands at the one end, and the last time is not cut at the other.
const FROM = 0.09;
const UPTO = 0.97;

/** The round times below an axis that begins now. */
export function ticksOf(now: number, span: number): number[] {
  const step = STEPS.find((each) => span / each <= MOST) ?? 21_600;
  const first = Math.ceil((now + span * FROM) / step) * step;
  return Array.from({ length: MOST + 1 }, (_, index) => first + index * step).filter((at) => at < now + span * UPTO);
}
