/** What is sent in which request: large files by themselves, small ones together. */

export interface Picked {
  /** Below the folder it goes to: `photos/2024/a.jpg`. */
  path: string;
  /** Null: an empty folder. */
  file: File | null;
}

export interface Piece {
  /** The same files, unchanged, have the same. */
  fingerprint: string;
  /** One file that goes up as it is, or several in an archive. */
  kind: "file" | "bundle";
  picked: Picked[];
  bytes: number;
}

const SMALL = 1_048_576; // bytes: from here on a file goes by itself
const BUNDLE = 16 * 1_048_576; // bytes
const MANY = 1000; // files of an archive
const FEW = 4; // so many small files are not worth an archive

export const sizeOf = (picked: Picked) => picked.file?.size ?? 0;

/** Archives before files: what is small is there early. */
export function plan(all: readonly Picked[]): Piece[] {
  const sorted = [...all].sort((a, b) => (a.path < b.path ? -1 : 1));
  const small = sorted.filter((one) => one.file === null || one.file.size < SMALL);
  const large = sorted.filter((one) => one.file !== null && one.file.size >= SMALL);
  const folders = small.some((one) => one.file === null);
  if (small.length < FEW && !folders) return sorted.map((one) => piece("file", [one]));
  const pieces: Piece[] = [];
  let group: Picked[] = [];
  let bytes = 0;
  for (const one of small) {
    if (group.length >= MANY || (group.length > 0 && bytes + sizeOf(one) > BUNDLE)) {
      pieces.push(piece("bundle", group));
      group = [];
      bytes = 0;
    }
    group.push(one);
    bytes += sizeOf(one);
  }
  if (group.length > 0) pieces.push(piece("bundle", group));
  return [...pieces, ...large.map((one) => piece("file", [one]))];
}

function piece(kind: Piece["kind"], picked: Picked[]): Piece {
  const told = picked.map(({ path, file }) => `${path}\0${file?.size ?? "folder"}\0${file?.lastModified ?? 0}`).join("\0");
  return { kind, picked, bytes: picked.reduce((sum, one) => sum + sizeOf(one), 0), fingerprint: `${kind}-${picked.length}-${hash(told)}` };
}

/** 53 bits; not against an enemy: it only tells one's own files apart. (The browser's own hashes are not there on plain HTTP.) */
export function hash(text: string): string {
  let one = 0xdeadbeef;
  let two = 0x41c6ce57;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    one = Math.imul(one ^ char, 2654435761);
    two = Math.imul(two ^ char, 1597334677);
  }
  one = Math.imul(one ^ (one >>> 16), 2246822507) ^ Math.imul(two ^ (two >>> 13), 3266489909);
  two = Math.imul(two ^ (two >>> 16), 2246822507) ^ Math.imul(one ^ (one >>> 13), 3266489909);
  return (4294967296 * (2097151 & two) + (one >>> 0)).toString(36);
}
