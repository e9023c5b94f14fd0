import { useSyncExternalStore } from "react";

/** Whether there is a transfer to show. By itself: pages that show none load nothing of it. */

const reasons = new Set<string>();
const tellers = new Set<() => void>();

export function setActive(reason: string, on: boolean): void {
  const before = reasons.size > 0;
  if (on) reasons.add(reason);
  else reasons.delete(reason);
  if (before !== reasons.size > 0) tellers.forEach((tell) => tell());
}

export function useActive(): boolean {
  return useSyncExternalStore(
    (tell) => {
      tellers.add(tell);
      return () => tellers.delete(tell);
    },
    () => reasons.size > 0,
  );
}
