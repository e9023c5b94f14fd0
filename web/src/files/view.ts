import { useState, useSyncExternalStore } from "react";
import { keep } from "../i18n";
import type { View } from "./asks";

interface Kept {
  sort: string;
  hidden: boolean;
}

const KEY = "danlu.files";
const tellers = new Set<() => void>();
let kept: Kept = read();

function read(): Kept {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Kept>;
    const sort = /^-?(name|size|modified)$/.test(found.sort ?? "") ? (found.sort as string) : "name";
    return { sort, hidden: found.hidden === true };
  } catch {
    return { sort: "name", hidden: false };
  }
}

/** The order of lists, and whether hidden files are shown; the same in every folder, kept by the browser. */
export function useView(path: string): { view: View; change: (changes: Partial<Kept>) => void } {
  const now = useSyncExternalStore(
    (tell) => {
      tellers.add(tell);
      return () => tellers.delete(tell);
    },
    () => kept,
  );
  const [change] = useState(() => (changes: Partial<Kept>) => {
    kept = { ...kept, ...changes };
    keep(KEY, JSON.stringify(kept));
    tellers.forEach((tell) => tell());
  });
  return { view: { path, ...now }, change };
}
