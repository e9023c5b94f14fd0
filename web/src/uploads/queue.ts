/** Uploads of this page. They go on while other pages are shown, wait while the connection is lost, and are
 * taken up again where they were after the browser was closed. */

import { setActive } from "./active";
import { forget, keepBatch, keepSent, sentBefore, urlsOf } from "./journal";
import { pack } from "./pack";
import { hash, plan, sizeOf, type Picked, type Piece } from "./plan";
import { finishBundle, Gone, Refused, send, Stopped, withdraw } from "./send";
import type { Refusal } from "../api/client";

export interface Target {
  user: string;
  /** As the pages name it. */
  folder: string;
  /** The same files chosen for the same folder have the same. */
  key: string;
  /** What was decided about names that were taken. */
  conflict: string;
  renamed: Record<string, string>;
  endpoint: string;
  metadata: (piece: Piece) => Record<string, string>;
  /** Whether a file is there already, as it would be after its upload. */
  isThere: (piece: Piece) => Promise<boolean>;
  /** Waits until an archive is unpacked; returns what could not be. Null: the server no longer knows of it. */
  unpacked: (operation: string) => Promise<Failure[] | null>;
}

export type State = "sending" | "waiting" | "paused" | "done" | "failed";

export interface Failure {
  path: string;
  /** Null: the browser could not read it. */
  refusal: Pick<Refusal, "en" | "zh"> | null;
}

export interface Batch {
  id: number;
  key: string;
  folder: string;
  title: string;
  files: number;
  bytes: number;
  doneFiles: number;
  doneBytes: number;
  /** Including what is on its way. */
  sentBytes: number;
  state: State;
  /** When the server is asked again, in milliseconds, while it does not answer. */
  nextTry: number | null;
  failures: Failure[];
  /** Bytes a second, lately. */
  speed: number;
  current: string;
}

interface Work extends Batch {
  target: Target;
  todo: Piece[];
  running: Map<Piece, number>; // bytes on their way
  stop: AbortController;
  tree: boolean;
  past: [number, number][]; // time, bytes
  tries: number;
}

const AT_ONCE = 3; // browsers open six connections to a server, and the page needs some
const WAITS = [1, 2, 3, 5, 10, 15]; // seconds between tries
const SHOWN_AGAIN = 250; // milliseconds
const LATELY = 8000;
const SEEN = 60_000; // so long what is complete is shown

const isTree = (picked: readonly Picked[]) => picked.some(({ path, file }) => file === null || path.includes("/"));

/** By what an upload is known again when its files are chosen once more. */
export function keyOf(picked: readonly Picked[], user: string, folder: string): string {
  const names = [...new Set(picked.map(({ path }) => path.split("/", 1)[0] as string))].sort();
  return [user, folder, isTree(picked) ? "tree" : "files", hash(names.join("\0"))].join("\n");
}

export class Queue {
  private batches: Work[] = [];
  private shown: readonly Batch[] = [];
  private tellers = new Set<() => void>();
  private enders = new Set<(folder: string) => void>();
  private timer: ReturnType<typeof setTimeout> | null = null;
  private last = 0;

  subscribe = (tell: () => void): (() => void) => {
    this.tellers.add(tell);
    return () => this.tellers.delete(tell);
  };

  snapshot = (): readonly Batch[] => this.shown;

  /** Called with a folder whose content has changed. */
  onEnd(tell: (folder: string) => void): () => void {
    this.enders.add(tell);
    return () => this.enders.delete(tell);
  }

  get busy(): boolean {
    return this.batches.some((batch) => batch.state === "sending" || batch.state === "waiting" || batch.state === "paused");
  }

  async add(picked: readonly Picked[], target: Target): Promise<void> {
    if (picked.length === 0) return;
    const { key } = target;
    const first = (picked[0] as Picked).path.split("/", 1)[0] as string;
    const tree = isTree(picked);
    if (this.batches.some((batch) => batch.key === key && batch.state !== "done" && batch.state !== "failed")) return;
    const pieces = plan(picked);
    this.last += 1;
    const batch: Work = {
      id: this.last,
      key,
      folder: target.folder,
      title: first,
      files: picked.length,
      bytes: picked.reduce((sum, one) => sum + sizeOf(one), 0),
      doneFiles: 0,
      doneBytes: 0,
      sentBytes: 0,
      state: "sending",
      nextTry: null,
      failures: [],
      speed: 0,
      current: "",
      target,
      todo: [],
      running: new Map(),
      stop: new AbortController(),
      tree,
      past: [],
      tries: 0,
    };
    this.batches.push(batch);
    this.show();
    for (const piece of pieces) {
      const sent = await sentBefore(`${key}\n${piece.fingerprint}`);
      if (sent?.done) this.count(batch, piece);
      else batch.todo.push(piece);
    }
    await this.remember(batch);
    this.go(batch);
  }

  pause(id: number): void {
    const batch = this.find(id);
    if (batch === undefined || (batch.state !== "sending" && batch.state !== "waiting")) return;
    batch.state = "paused";
    this.halt(batch);
    this.show();
  }

  resume(id: number): void {
    const batch = this.find(id);
    if (batch === undefined || (batch.state !== "paused" && batch.state !== "waiting")) return;
    batch.state = "sending";
    batch.tries = 0;
    batch.nextTry = null;
    this.go(batch);
  }

  /** What is there already stays; what was half sent goes. */
  async cancel(id: number): Promise<void> {
    const batch = this.find(id);
    if (batch === undefined) return;
    batch.state = "paused";
    this.halt(batch);
    batch.todo = [];
    const urls = await urlsOf(batch.key);
    // Before it leaves the list: what is neither shown nor forgotten would count as interrupted.
    await forget(batch.key);
    this.clear(id);
    await Promise.all(urls.map(withdraw));
    this.ended(batch);
  }

  /** No longer shown; only for what has ended. */
  clear(id: number): void {
    this.batches = this.batches.filter((batch) => batch.id !== id);
    this.show();
  }

  /** The connection may be back. */
  wake(): void {
    for (const batch of this.batches) if (batch.state === "waiting") this.resume(batch.id);
  }

  private find(id: number): Work | undefined {
    return this.batches.find((batch) => batch.id === id);
  }

  private halt(batch: Work): void {
    batch.stop.abort();
    batch.stop = new AbortController();
    batch.todo.unshift(...batch.running.keys());
    batch.running.clear();
    batch.nextTry = null;
    batch.past = [];
  }

  private go(batch: Work): void {
    if (batch.state === "sending") {
      while (batch.running.size < AT_ONCE && batch.todo.length > 0) void this.sendOne(batch, batch.todo.shift() as Piece);
      if (batch.running.size === 0 && batch.todo.length === 0) void this.finish(batch);
    }
    this.show();
  }

  private async sendOne(batch: Work, piece: Piece): Promise<void> {
    const { stop } = batch;
    const key = `${batch.key}\n${piece.fingerprint}`;
    batch.running.set(piece, 0);
    batch.current = (piece.picked[0] as Picked).path;
    // After a pause the same piece may run again while this one still ends.
    const mine = () => batch.stop === stop && batch.running.has(piece);
    try {
      const data = await this.dataOf(batch, piece);
      const before = await sentBefore(key);
      if (stop.signal.aborted) return;
      let address = before?.url ?? "";
      const progress = (bytes: number) => {
        if (mine()) batch.running.set(piece, Math.min(bytes, piece.bytes));
        batch.tries = 0;
        this.later();
      };
      const begun = (url: string) => {
        address = url;
        void keepSent({ key, url, done: false });
      };
      const sending = { endpoint: batch.target.endpoint, metadata: batch.target.metadata(piece), begun, progress, stop: stop.signal };
      let operation = "";
      try {
        operation = await send(data, { ...sending, url: address });
        if (piece.kind === "bundle") await this.unpack(batch, operation || (await finishBundle(address, data.size)));
      } catch (error) {
        if (!(error instanceof Gone)) throw error;
        // A file that is complete is no upload any more. An archive is simply sent once more: it changes nothing twice.
        if (piece.kind === "bundle" || !(await batch.target.isThere(piece))) {
          operation = await send(data, { ...sending, url: "" });
          if (piece.kind === "bundle") await this.unpack(batch, operation || (await finishBundle(address, data.size)));
        }
      }
      if (!mine()) return;
      batch.running.delete(piece);
      await keepSent({ key, url: "", done: true });
      this.count(batch, piece);
      void this.remember(batch);
    } catch (error) {
      if (!mine()) return;
      this.failed(batch, piece, error);
    }
    this.go(batch);
  }

  private failed(batch: Work, piece: Piece, error: unknown): void {
    batch.running.delete(piece);
    if (error instanceof Stopped) {
      batch.todo.unshift(piece);
    } else if (error instanceof Refused || error instanceof Unreadable) {
      const refusal = error instanceof Refused ? error.refusal : null;
      batch.failures.push(...piece.picked.slice(0, 1).map(({ path }) => ({ path: piece.picked.length > 1 ? `${path} …` : path, refusal })));
      void keepSent({ key: `${batch.key}\n${piece.fingerprint}`, url: "", done: false });
    } else {
      batch.todo.unshift(piece);
      this.wait(batch);
    }
  }

  private async unpack(batch: Work, operation: string): Promise<void> {
    const failures = await batch.target.unpacked(operation);
    if (failures === null) throw new Gone();
    batch.failures.push(...failures);
  }

  /** Of an archive only the archive has to be held, and only while it is sent. */
  private async dataOf(batch: Work, piece: Piece): Promise<Blob> {
    const [first] = piece.picked;
    if (piece.kind === "file") {
      const file = first?.file as File;
      await file.slice(0, 1).arrayBuffer().catch(() => {
        throw new Unreadable();
      });
      return file;
    }
    const packed = await pack(piece.picked);
    const known = new Set(batch.failures.map(({ path }) => path));
    batch.failures.push(...packed.unread.filter((path) => !known.has(path)).map((path) => ({ path, refusal: null })));
    return packed.archive;
  }

  private wait(batch: Work): void {
    if (batch.state !== "sending") return;
    this.halt(batch);
    batch.state = "waiting";
    const seconds = WAITS[Math.min(batch.tries, WAITS.length - 1)] as number;
    batch.tries += 1;
    const at = Date.now() + seconds * 1000;
    batch.nextTry = at;
    const tries = batch.tries;
    setTimeout(() => {
      if (batch.state !== "waiting" || batch.nextTry !== at) return;
      batch.state = "sending";
      batch.nextTry = null;
      this.go(batch);
      batch.tries = tries;
    }, seconds * 1000);
  }

  private count(batch: Work, piece: Piece): void {
    batch.doneFiles += piece.picked.length;
    batch.doneBytes += piece.bytes;
  }

  private async finish(batch: Work): Promise<void> {
    batch.state = batch.failures.length > 0 ? "failed" : "done";
    batch.current = "";
    this.show();
    if (batch.failures.length === 0) {
      await forget(batch.key);
      setTimeout(() => this.clear(batch.id), SEEN);
    }
    this.ended(batch);
  }

  private ended(batch: Work): void {
    this.enders.forEach((tell) => tell(batch.folder));
  }

  private async remember(batch: Work): Promise<void> {
    const { key, folder, title, files, bytes, doneFiles, doneBytes, tree } = batch;
    const { user, conflict, renamed } = batch.target;
    await keepBatch({ key, user, conflict, renamed, folder, title, files, bytes, doneFiles, doneBytes, tree, at: Date.now() });
  }

  private later(): void {
    this.timer ??= setTimeout(() => this.show(), SHOWN_AGAIN);
  }

  private show(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const now = Date.now();
    this.shown = this.batches.map((batch) => {
      batch.sentBytes = batch.doneBytes + [...batch.running.values()].reduce((sum, bytes) => sum + bytes, 0);
      batch.past = [...batch.past.filter(([at]) => now - at < LATELY), [now, batch.sentBytes]];
      const [since, bytes] = batch.past[0] as [number, number];
      batch.speed = batch.state === "sending" && now - since > 500 ? Math.max(0, ((batch.sentBytes - bytes) * 1000) / (now - since)) : 0;
      const { id, key, folder, title, files, doneFiles, doneBytes, sentBytes, state, nextTry, failures, speed, current } = batch;
      return { id, key, folder, title, files, bytes: batch.bytes, doneFiles, doneBytes, sentBytes, state, nextTry, failures: [...failures], speed, current };
    });
    setActive("uploads", this.batches.length > 0);
    this.tellers.forEach((tell) => tell());
  }
}

class Unreadable extends Error {}

export const queue = new Queue();

if (typeof window !== "undefined") {
  window.addEventListener("online", () => queue.wake());
  window.addEventListener("beforeunload", (event) => {
    if (queue.busy) event.preventDefault();
  });
}
