import { end, header, padding } from "./tar";
import type { Picked } from "./plan";

export interface Packed {
  id: number;
  archive: Blob;
  /** Paths of files that the browser could not read. */
  unread: string[];
}

const tell = (packed: Packed) => (self as unknown as { postMessage: (value: Packed) => void }).postMessage(packed);

/** Read here and not while sending: one file that cannot be read must not fail the rest, nor the page wait. */
self.onmessage = async (event: MessageEvent<{ id: number; picked: Picked[] }>) => {
  const { id, picked } = event.data;
  const parts: BlobPart[] = [];
  const unread: string[] = [];
  for (const { path, file } of picked) {
    try {
      const bytes = file === null ? new ArrayBuffer(0) : await file.arrayBuffer();
      parts.push(header({ path, size: bytes.byteLength, mtime: file?.lastModified ?? 0, folder: file === null }));
      parts.push(bytes, new Uint8Array(padding(bytes.byteLength)));
    } catch {
      unread.push(path);
    }
  }
  parts.push(end());
  tell({ id, archive: new Blob(parts), unread });
};
