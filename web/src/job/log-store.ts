import { authorised, lost } from "../api/auth";
import { refusalOf } from "../api/client";

export interface Line {
  start: number; // its first byte in the log
  text: string;
}

export interface LogView {
  lines: Line[];
  first: number | null; // the number of the first line, where it is known
  base: number; // byte where the lines begin
  end: number; // byte after what has been read
  size: number; // of the whole log
  open: string; // what the task has printed of a line that is not ended yet
  loading: boolean;
  following: boolean;
  error: unknown;
}

const CHUNK = 512 * 1024;
const MOST_LINES = 60_000;
const LONGEST = 64 * 1024;
const NEWLINE = 10;

/** A part of a log that may be very long: read by ranges, grown on both sides, followed at its end. */
export class LogStore {
  private view: LogView = blank();
  private tellers = new Set<() => void>();
  private abort = new AbortController();
  private decoder = new TextDecoder();
  private rest: Uint8Array = new Uint8Array();
  private frame = 0;

  constructor(
    private readonly url: string,
    private readonly live: () => boolean,
  ) {}

  readonly look = (): LogView => this.view;

  readonly subscribe = (tell: () => void): (() => void) => {
    this.tellers.add(tell);
    return () => this.tellers.delete(tell);
  };

  close(): void {
    this.abort.abort();
    cancelAnimationFrame(this.frame);
  }

  /** The end of the log; what comes then is followed. */
  async toEnd(): Promise<void> {
    await this.restart(async (signal) => {
      const probe = await this.get({ limit: 0 }, signal);
      const size = Number(probe.headers.get("X-Log-Size") ?? 0);
      await this.fill(size <= CHUNK ? 0 : size - CHUNK, signal, size <= CHUNK ? 1 : null);
      if (this.live()) void this.follow(signal);
    });
  }

  async toStart(): Promise<void> {
    if (this.view.base === 0 && this.view.lines.length > 0) return;
    await this.restart((signal) => this.fill(0, signal, 1));
  }

  /** Around a byte whose line number is known. */
  async to(offset: number, line: number): Promise<void> {
    if (offset >= this.view.base && offset < this.view.end && this.view.lines.length > 0) {
      this.number(offset, line);
      return;
    }
    await this.restart(async (signal) => {
      await this.fill(Math.max(0, offset - CHUNK / 2), signal, null);
      this.number(offset, line);
    });
  }

  async earlier(): Promise<void> {
    const { base, loading, lines, first } = this.view;
    if (base === 0 || loading) return;
    this.set({ loading: true });
    try {
      const from = Math.max(0, base - CHUNK);
      const answer = await this.get({ offset: from, limit: base - from }, this.abort.signal);
      const [start, bytes] = whole(new Uint8Array(await answer.arrayBuffer()), from);
      const added = split(bytes, start);
      this.set({
        lines: [...added, ...lines],
        base: start,
        first: start === 0 ? 1 : first === null ? null : first - added.length,
        loading: false,
      });
      this.forgetEnd();
    } catch (error) {
      this.failed(error);
    }
  }

  /** More after the end of what is shown, when that is not the end of the log. */
  async later(): Promise<void> {
    const { end, size, loading, following } = this.view;
    if (end >= size || loading || following) return;
    this.set({ loading: true });
    try {
      const answer = await this.get({ offset: end, limit: CHUNK }, this.abort.signal);
      this.take(new Uint8Array(await answer.arrayBuffer()));
      this.set({ loading: false });
    } catch (error) {
      this.failed(error);
    }
  }

  private async restart(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.abort.abort();
    this.abort = new AbortController();
    this.decoder = new TextDecoder();
    this.rest = new Uint8Array();
    this.view = { ...blank(), size: this.view.size, loading: true };
    this.tell();
    try {
      await work(this.abort.signal);
    } catch (error) {
      this.failed(error);
    }
  }

  private async fill(from: number, signal: AbortSignal, first: number | null): Promise<void> {
    const answer = await this.get({ offset: from, limit: CHUNK }, signal);
    const size = Number(answer.headers.get("X-Log-Size") ?? 0);
    const read = new Uint8Array(await answer.arrayBuffer());
    const [start, bytes] = from === 0 ? [0, read] : afterNewline(read, from);
    this.view = { ...this.view, base: start, end: start, size, first: from === 0 ? 1 : first };
    this.take(bytes);
    this.set({ loading: false });
  }

  private async follow(signal: AbortSignal): Promise<void> {
    let pause = 500;
    while (!signal.aborted && this.live()) {
      this.set({ following: true });
      try {
        const answer = await this.get({ offset: this.view.end, follow: true }, signal);
        const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
        for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
          pause = 500;
          this.take(piece.value);
        }
        break; // the job has ended
      } catch {
        if (signal.aborted) return;
        this.set({ following: false });
        await new Promise((go) => setTimeout(go, pause));
        pause = Math.min(10_000, pause * 2);
      }
    }
    if (!signal.aborted) this.set({ following: false });
  }

  /** Bytes that come after what is there. Told once a frame, however many pieces come. */
  private take(bytes: Uint8Array): void {
    const joined = this.rest.length > 0 ? join(this.rest, bytes) : bytes;
    const cut = joined.lastIndexOf(NEWLINE) + 1;
    const begin = this.view.end - this.rest.length;
    const fresh = split(joined.subarray(0, cut), begin);
    let rest = joined.subarray(cut);
    if (rest.length > LONGEST) rest = rest.subarray(rest.length - LONGEST); // a bar that is drawn without an end
    this.rest = rest.slice();
    let lines = this.view.lines;
    let { base, first } = this.view;
    if (fresh.length > 0) lines = [...lines, ...fresh];
    if (lines.length > MOST_LINES) {
      const gone = lines.length - MOST_LINES + 5000;
      lines = lines.slice(gone);
      base = lines[0]?.start ?? base;
      first = first === null ? null : first + gone;
    }
    const end = this.view.end + bytes.length;
    this.view = { ...this.view, lines, base, first, end, size: Math.max(this.view.size, end), open: this.decoder.decode(this.rest) };
    if (this.frame === 0)
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.tell();
      });
  }

  /** Who reads far up does not need the end: it is read again on the way down. */
  private forgetEnd(): void {
    const { lines } = this.view;
    const last = lines[MOST_LINES];
    if (last === undefined) return;
    this.abort.abort(); // nothing more is followed
    this.abort = new AbortController();
    this.decoder = new TextDecoder();
    this.rest = new Uint8Array();
    this.set({ lines: lines.slice(0, MOST_LINES), end: last.start, open: "", following: false });
  }

  private number(offset: number, line: number): void {
    const at = this.view.lines.findIndex((one) => one.start >= offset);
    if (at >= 0) this.set({ first: line - at });
  }

  private async get(query: Record<string, number | boolean>, signal: AbortSignal): Promise<Response> {
    const headers = new Headers();
    authorised(headers, "GET");
    const more = new URLSearchParams(Object.entries(query).map(([key, value]) => [key, String(value)]));
    const answer = await fetch(`${this.url}${this.url.includes("?") ? "&" : "?"}${more}`, { headers, signal });
    if (answer.ok) return answer;
    if (answer.status === 401) lost();
    throw await refusalOf(answer);
  }

  private failed(error: unknown): void {
    if ((error as { name?: string }).name !== "AbortError") this.set({ loading: false, error });
  }

  private set(change: Partial<LogView>): void {
    this.view = { ...this.view, ...change };
    this.tell();
  }

  private tell(): void {
    this.tellers.forEach((tell) => tell());
  }
}

function blank(): LogView {
  return { lines: [], first: null, base: 0, end: 0, size: 0, open: "", loading: false, following: false, error: null };
}

const decoder = new TextDecoder();

function split(bytes: Uint8Array, start: number): Line[] {
  const lines: Line[] = [];
  let from = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, from)) {
    const most = Math.max(from, at - LONGEST);
    lines.push({ start: start + from, text: decoder.decode(bytes.subarray(most, at)) });
    from = at + 1;
  }
  return lines;
}

/** From the first whole line on. */
function afterNewline(bytes: Uint8Array, from: number): [number, Uint8Array] {
  const cut = bytes.indexOf(NEWLINE) + 1;
  return [from + cut, bytes.subarray(cut)];
}

function whole(bytes: Uint8Array, from: number): [number, Uint8Array] {
  return from === 0 ? [0, bytes] : afterNewline(bytes, from);
}

function join(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
