import type { Packed } from "./pack.worker";
import type { Picked } from "./plan";

let worker: Worker | null = null;
let last = 0;
const waiting = new Map<number, { done: (packed: Packed) => void; failed: (why: unknown) => void }>();

/** An archive of these files, made beside the page. */
export function pack(picked: readonly Picked[]): Promise<Packed> {
  worker ??= started();
  last += 1;
  const id = last;
  const answer = new Promise<Packed>((done, failed) => waiting.set(id, { done, failed }));
  worker.postMessage({ id, picked });
  return answer;
}

function started(): Worker {
  const made = new Worker(new URL("./pack.worker.ts", import.meta.url), { type: "module" });
  made.onmessage = (event: MessageEvent<Packed>) => {
    waiting.get(event.data.id)?.done(event.data);
    waiting.delete(event.data.id);
  };
  made.onerror = (event) => {
    worker = null;
    for (const { failed } of waiting.values()) failed(new Error(event.message));
    waiting.clear();
  };
  return made;
}
