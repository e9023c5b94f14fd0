/** The files that somebody chose or dropped, folders with all that is in them. */

import type { Picked } from "./plan";

/** Of `<input type=file>`, with or without `webkitdirectory`. */
export function chosen(files: FileList): Picked[] {
  return [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/** What was dropped. Must be called while the event is handled: afterwards the browser forgets it. */
export function dropped(data: DataTransfer): Promise<Picked[]> {
  const entries = [...data.items].flatMap((item) => {
    const entry = item.kind === "file" ? item.webkitGetAsEntry() : null;
    return entry === null ? [] : [entry];
  });
  if (entries.length === 0) return Promise.resolve(chosen(data.files));
  return walk(entries);
}

async function walk(entries: FileSystemEntry[]): Promise<Picked[]> {
  const found: Picked[] = [];
  const todo = [...entries];
  for (let entry = todo.pop(); entry !== undefined; entry = todo.pop()) {
    const path = entry.fullPath.replace(/^\//, "");
    if (entry.isFile) {
      const file = await new Promise<File | null>((done) => (entry as FileSystemFileEntry).file(done, () => done(null)));
      // What cannot be opened (a link that leads nowhere) is left out.
      if (file !== null) found.push({ path, file });
    } else {
      const inside = await children(entry as FileSystemDirectoryEntry);
      if (inside.length === 0) found.push({ path, file: null });
      todo.push(...inside);
    }
  }
  return found;
}

/** Browsers hand out at most a hundred at a time. */
async function children(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const found: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((done) => reader.readEntries(done, () => done([])));
    if (some.length === 0) return found;
    found.push(...some);
  }
}

/** The names that appear in the folder itself: of a folder only its own. */
export function topNames(picked: readonly Picked[]): string[] {
  return [...new Set(picked.map(({ path }) => path.split("/", 1)[0] as string))];
}
