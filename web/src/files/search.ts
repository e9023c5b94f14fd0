import { useEffect, useRef, useState } from "react";
import { refusalOf } from "../api/client";
import type { Entry } from "./asks";

export interface Found {
  entries: Entry[];
  seen: number;
  /** Null while it goes on. */
  complete: boolean | null;
  error: unknown;
}

const MOST = 1000;
const SHOWN_AGAIN = 150; // milliseconds

/** Names below a folder that contain a text, as the server finds them. */
export function useSearch(path: string, text: string): Found | null {
  const [found, setFound] = useState<Found | null>(null);
  const shown = useRef(0);
  useEffect(() => {
    if (text === "") {
      setFound(null);
      return;
    }
    const stop = new AbortController();
    const now: Found = { entries: [], seen: 0, complete: null, error: null };
    const show = (force: boolean) => {
      if (stop.signal.aborted || (!force && Date.now() - shown.current < SHOWN_AGAIN)) return;
      shown.current = Date.now();
      setFound({ ...now, entries: [...now.entries] });
    };
    const read = (line: string) => {
      if (line === "") return;
      const told = JSON.parse(line) as { entry?: Entry; seen?: number; end?: { seen: number; complete: boolean } };
      if (told.entry !== undefined) now.entries.push(told.entry);
      if (told.seen !== undefined) now.seen = told.seen;
      if (told.end !== undefined) {
        now.seen = told.end.seen;
        now.complete = told.end.complete;
      }
      show(false);
    };
    show(true);
    void lines(`/danlu/v1/files/search?${new URLSearchParams({ path, q: text, limit: String(MOST) })}`, stop.signal, read)
      .catch((error: unknown) => {
        if (!stop.signal.aborted) now.error = error;
      })
      .then(() => {
        now.complete ??= false;
        show(true);
      });
    return () => stop.abort();
  }, [path, text]);
  return found;
}

async function lines(address: string, signal: AbortSignal, read: (line: string) => void): Promise<void> {
  const answer = await fetch(address, { signal });
  if (!answer.ok || answer.body === null) throw await refusalOf(answer);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const parts = (rest + (value ?? "")).split("\n");
    rest = parts.pop() ?? "";
    parts.forEach(read);
    if (done) break;
  }
  read(rest);
}
