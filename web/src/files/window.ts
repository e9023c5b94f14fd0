/** Which rows of a very long list are drawn, and where. Browsers know no element of 36 million pixels, so from
 * some length on a pixel of the scroll bar stands for more than one of the list. */

export const ROW = 36; // pixels
const TALLEST = 12_000_000; // pixels; Firefox ends at 17 million
const SPARE = 8; // rows above and below what is seen

export interface Window {
  /** Of the element that is scrolled. */
  height: number;
  first: number;
  last: number; // exclusive
  /** Where the first row is drawn, in pixels. */
  top: number;
}

export function windowOf(total: number, scrolled: number, seen: number): Window {
  const real = total * ROW;
  const height = Math.min(real, TALLEST);
  const ratio = height - seen > 0 ? (real - seen) / (height - seen) : 1;
  // How far into the list, were it as tall as it is.
  const at = height === real ? scrolled : Math.min(scrolled * ratio, Math.max(0, real - seen));
  const first = Math.max(0, Math.floor(at / ROW) - SPARE);
  const last = Math.min(total, Math.ceil((at + seen) / ROW) + SPARE);
  return { height, first, last, top: scrolled - at + first * ROW };
}

/** Where to scroll so that a row is seen; the present place if it is. */
export function scrollTo(row: number, total: number, scrolled: number, seen: number): number {
  const real = total * ROW;
  const height = Math.min(real, TALLEST);
  const ratio = height - seen > 0 ? (real - seen) / (height - seen) : 1;
  const at = scrolled * ratio;
  const above = row * ROW;
  const wanted = above < at ? above : above + ROW > at + seen ? above + ROW - seen : at;
  return wanted === at ? scrolled : wanted / ratio;
}
