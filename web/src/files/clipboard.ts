import { useSyncExternalStore } from "react";

/** What was cut or copied, until it is pasted; across folders. */
export interface Clip {
  move: boolean;
  paths: string[];
}

let clip: Clip | null = null;
const tellers = new Set<() => void>();

export function setClip(next: Clip | null): void {
  clip = next;
  tellers.forEach((tell) => tell());
}

export function useClip(): Clip | null {
  return useSyncExternalStore(
    (tell) => {
      tellers.add(tell);
      return () => tellers.delete(tell);
    },
    () => clip,
  );
}
