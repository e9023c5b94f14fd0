import { startTransition, useEffect, useState } from "react";
import { stream } from "../api/stream";
import { pictureNow } from "./live";
import type { Picture, Row, Totals } from "./model";

/** Rows on their way from one moment to another; the totals are of the last one that all of them had reached. */
interface Lagging {
  rows: readonly Row[];
  totals: Totals;
}

const FEW = 25; // rows
const PARTS = 8; // at most, however many rows there are
const FIRST = 200; // in milliseconds: after the map itself
const FILLING = 30;
const PAUSE = 2_000;

/** The rows as shown, with the first few of those that differ as they should be. */
export function nearer(shown: readonly Row[], rows: readonly Row[]): readonly Row[] {
  // Nodes came or went: in parts, one would be there twice or not at all.
  if (shown.length > rows.length || !shown.every((row, at) => row.node.name === rows[at]?.node.name)) return rows;
  const from = rows.findIndex((row, at) => row !== shown[at]);
  if (from < 0) return shown;
  const upto = from + Math.max(FEW, Math.ceil(rows.length / PARTS));
  return [...shown.slice(0, from), ...rows.slice(from, upto), ...shown.slice(upto)];
}

/** The map's rows for what nobody waits for: a few at a time, so that neither the first picture nor a wave of
 * changes has to pay for all of them at once. */
export function useLaggingRows(me: string): Lagging | null {
  const [shown, setShown] = useState<Lagging | null>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let aim: Picture | null = null; // stays until it is reached, or the last rows would never have their turn
    let reached: Picture | null = null;
    let rows: readonly Row[] = [];
    const step = () => {
      timer = undefined;
      aim ??= pictureNow(me);
      if (aim === null) return;
      const next = nearer(rows, aim.rows);
      const isFilling = next.length < aim.rows.length;
      const whole = next.every((row, at) => row === aim?.rows[at]) && !isFilling;
      if (whole) reached = aim;
      const { totals } = reached ?? aim;
      rows = next;
      if (whole) aim = null;
      startTransition(() => setShown({ rows: next, totals }));
      if (!whole) timer = setTimeout(step, isFilling ? FILLING : PAUSE);
      else hear();
    };
    const hear = () => {
      if (timer === undefined && pictureNow(me) !== reached) timer = setTimeout(step, reached === null ? FIRST : PAUSE);
    };
    hear();
    const off = stream.subscribe(hear);
    return () => {
      off();
      clearTimeout(timer);
    };
  }, [me]);
  return shown;
}
