/** Archives of many small files (POSIX ustar, with pax records where a name or size does not fit). The
 * same files always give the same bytes, so that an interrupted upload can go on. */

const BLOCK = 512;
const NAME = 100; // bytes
const OCTAL = 0o77777777777; // 8 GB, the largest size that ustar can tell
const encoder = new TextEncoder();

export interface Entry {
  /** Below the folder it goes to, with `/`; no leading one. */
  path: string;
  size: number;
  /** Milliseconds. */
  mtime: number;
  folder?: boolean;
}

const whole = (size: number) => Math.ceil(size / BLOCK) * BLOCK;

/** How many zeros follow the bytes of a file. */
export const padding = (size: number) => whole(size) - size;

/** What stands before the bytes of a file. */
export function header(entry: Entry): Uint8Array<ArrayBuffer> {
  const path = entry.folder ? `${entry.path}/` : entry.path;
  const name = encoder.encode(path);
  const plain = block(name, entry.folder ? 0 : entry.size, Math.floor(entry.mtime / 1000), entry.folder ? "5" : "0");
  const records = [...(fits(path, name) ? [] : [record("path", path)]), ...(entry.size > OCTAL ? [record("size", String(entry.size))] : [])];
  if (records.length === 0) return plain;
  const told = join(records);
  const before = block(encoder.encode("PaxHeader"), told.length, 0, "x");
  return join([before, told, new Uint8Array(padding(told.length)), plain]);
}

/** Two empty blocks. */
export const end = () => new Uint8Array(2 * BLOCK);

export function archiveSize(entries: readonly Entry[]): number {
  return entries.reduce((sum, entry) => sum + header(entry).length + (entry.folder ? 0 : whole(entry.size)), 2 * BLOCK);
}

const fits = (path: string, name: Uint8Array) => name.length <= NAME && name.length === path.length;

function block(name: Uint8Array, size: number, mtime: number, kind: string): Uint8Array<ArrayBuffer> {
  const made = new Uint8Array(BLOCK);
  const text = (at: number, value: string) => made.set(encoder.encode(value), at);
  const number = (at: number, digits: number, value: number) => text(at, Math.max(0, value).toString(8).padStart(digits, "0"));
  made.set(name.subarray(0, NAME), 0);
  number(100, 7, kind === "5" ? 0o755 : 0o644);
  number(108, 7, 0);
  number(116, 7, 0);
  number(124, 11, Math.min(size, OCTAL));
  number(136, 11, mtime);
  text(148, " ".repeat(8));
  text(156, kind);
  text(257, "ustar\0" + "00");
  text(
    148,
    made
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, "0") + "\0 ",
  );
  return made;
}

/** "LENGTH key=value\n", where the length counts its own digits. */
function record(key: string, value: string): Uint8Array<ArrayBuffer> {
  const rest = encoder.encode(` ${key}=${value}\n`);
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return join([encoder.encode(String(length)), rest]);
}

export function join(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const made = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    made.set(part, at);
    at += part.length;
  }
  return made;
}
