import { useSyncExternalStore } from "react";
import { authorised, lost } from "./auth";
import type { Schemas } from "./client";
import { firstStream } from "./first";
import { applyNews, type Node, type NodeNews } from "./nodes";
import { messages, type Message } from "./sse";

export type { Node };
export type Happening = Pick<Schemas["StreamEvent"], "seq" | "at" | "kind" | "actor" | "data" | "en" | "zh"> & {
  job?: Schemas["StreamJob"];
};

/** One GPU as last measured: percent busy, MiB in use, since when it has been idle. */
export type Use = readonly [busy: number | null, memory: number | null, since?: number];

export interface Live {
  status: "connecting" | "live" | "away";
  /** When the last sign came, and when the next try is; in milliseconds. */
  heard: number;
  retryAt: number;
  nodes: ReadonlyMap<string, Node> | null;
  usage: ReadonlyMap<string, readonly Use[]>;
}

const BEAT = 5; // seconds: the server gives a sign at least this often
const SILENCE = 16_000; // three of them and a little
const SLOWEST = 15_000;

/** The one connection over which the page hears what happens. It comes back by itself. */
class Stream {
  private live: Live = { status: "connecting", heard: 0, retryAt: 0, nodes: null, usage: new Map() };
  private tellers = new Set<() => void>();
  private hearers = new Set<(happening: Happening | null) => void>();
  private last: string | null = null;
  private abort: AbortController | null = null;
  private failures = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private wanted = false;
  private quiet = false;

  readonly look = (): Live => this.live;

  readonly subscribe = (tell: () => void): (() => void) => {
    this.tellers.add(tell);
    return () => this.tellers.delete(tell);
  };

  /** null: something about nodes changed, or what was missed is not known. */
  onHappening(hear: (happening: Happening | null) => void): () => void {
    this.hearers.add(hear);
    return () => this.hearers.delete(hear);
  }

  start(): void {
    if (this.wanted) return;
    this.wanted = true;
    void this.run();
  }

  stop(): void {
    this.wanted = false;
    clearTimeout(this.timer);
    this.abort?.abort();
    this.last = null;
    this.failures = 0;
    this.set({ status: "connecting", nodes: null, usage: new Map(), heard: 0, retryAt: 0 });
  }

  readonly retryNow = (): void => {
    clearTimeout(this.timer);
    if (this.wanted && this.live.status !== "live") void this.run();
  };

  private async run(): Promise<void> {
    clearTimeout(this.timer);
    this.abort?.abort();
    const early = this.last === null ? firstStream() : null;
    const abort = (this.abort = early?.stop ?? new AbortController());
    const headers = new Headers({ Accept: "text/event-stream" });
    authorised(headers, "GET");
    if (this.last !== null) headers.set("Last-Event-ID", this.last);
    let watch: ReturnType<typeof setTimeout> | undefined;
    let silent = false;
    const alive = () => {
      clearTimeout(watch);
      watch = setTimeout(() => {
        silent = true; // an open connection with nobody at its other end
        abort.abort();
      }, SILENCE);
    };
    try {
      alive();
      const ask = () => fetch(`/danlu/v1/stream?nodes=true&brief=true&beat=${BEAT}`, { headers, signal: abort.signal, cache: "no-store" });
      const answer = (await early?.stream) ?? (await ask());
      if (answer.status === 401 || answer.status === 403) {
        this.wanted = false;
        lost();
        return;
      }
      if (!answer.ok || answer.body === null) throw new Error(`HTTP ${answer.status}`);
      this.failures = 0;
      for await (const together of messages(answer.body)) {
        alive();
        this.takeAll(together);
      }
      // The server ends a stream when it stops or when who listens may no longer.
      throw new Error("ended");
    } catch {
      if (this.wanted && abort === this.abort) this.later(silent);
    } finally {
      clearTimeout(watch);
    }
  }

  private later(silent: boolean): void {
    const wait = Math.min(SLOWEST, 500 * 2 ** this.failures++) * (0.75 + Math.random() / 2);
    this.set({ status: this.failures < 2 && !silent ? "connecting" : "away", retryAt: Date.now() + wait });
    this.timer = setTimeout(() => void this.run(), wait);
  }

  /** Drawn once, however many came together. */
  private takeAll(together: Message[]): void {
    const before = this.live;
    this.quiet = true;
    try {
      for (const message of together) {
        if (message.id !== null) this.last = message.id;
        this.take(message.event, message.data);
      }
    } finally {
      this.quiet = false;
      if (this.live !== before) this.tellers.forEach((tell) => tell());
    }
  }

  private take(event: string, data: string): void {
    const heard = Date.now();
    if (event === "hello") {
      const again = this.live.nodes !== null;
      this.set({ status: "live", heard });
      if (again) this.tell(null);
    } else if (event === "nodes") {
      this.set({ nodes: applyNews(this.live.nodes, JSON.parse(data) as NodeNews), heard });
      this.tell(null);
    } else if (event === "usage") {
      const { nodes } = JSON.parse(data) as { nodes: Record<string, Use[]> };
      this.set({ usage: new Map(Object.entries(nodes)), heard });
    } else if (event === "job" || event === "platform") {
      this.set({ heard });
      this.tell(JSON.parse(data) as Happening);
    } else {
      this.live.heard = heard; // a beat: nothing to draw
    }
  }

  private tell(happening: Happening | null): void {
    this.hearers.forEach((hear) => hear(happening));
  }

  private set(change: Partial<Live>): void {
    this.live = { ...this.live, ...change };
    if (!this.quiet) this.tellers.forEach((tell) => tell());
  }
}

export const stream = new Stream();

export function useLive(): Live {
  return useSyncExternalStore(stream.subscribe, stream.look);
}

/** Whether the page hears the server; drawn again only when that changes. */
export function useStatus(): Live["status"] {
  return useSyncExternalStore(stream.subscribe, () => stream.look().status);
}

/** What is free and used; the signs of life in between are not drawn. */
export function useNodes(): Live["nodes"] {
  return useSyncExternalStore(stream.subscribe, () => stream.look().nodes);
}

