import { below, ending } from "../files/paths";
import { api, got, Refusal } from "../api/client";
import { exists, UPLOADS } from "../files/asks";
import type { Taken } from "../files/dialogs";
import { unfinished } from "./journal";
import { topNames } from "./pick";
import type { Picked, Piece } from "./plan";
import { keyOf, queue, type Failure } from "./queue";

/** As the API writes names: a backslash that could be taken for an escape is one itself. */
const told = (path: string) => path.replace(/\\(?=x[0-9a-fA-F]{2})/g, "\\x5c");

/** What a name becomes so that both are kept: `data (2)`. */
async function freeName(folder: string, name: string): Promise<string> {
  const [stem, end] = ending(name);
  for (let number = 2; number < 1000; number += 1) {
    const next = `${stem} (${number})${end}`;
    if (!(await exists(below(folder, told(next))))) return next;
  }
  return name;
}

/** Puts files and folders into the queue. An upload that was interrupted goes on as it was begun. */
export async function upload(picked: Picked[], folder: string, user: string, ask: (names: string[]) => Promise<Taken | null>): Promise<void> {
  if (picked.length === 0) return;
  const key = keyOf(picked, user, folder);
  const begun = (await unfinished(user)).find((batch) => batch.key === key);
  let conflict = begun?.conflict ?? "refuse";
  let renamed = begun?.renamed ?? {};
  let rest = picked;
  if (begun === undefined) {
    const names = topNames(picked);
    const taken = (await Promise.all(names.slice(0, 200).map(async (name) => ((await exists(below(folder, told(name)))) ? [name] : [])))).flat();
    const choice = taken.length > 0 ? await ask(taken) : "refuse";
    if (choice === null) return;
    if (choice === "skip") rest = picked.filter(({ path }) => !taken.includes(path.split("/", 1)[0] as string));
    else if (choice === "overwrite") conflict = choice;
    // Named here and not by the server: what is sent again after a break must not get another number.
    else if (choice === "rename") for (const name of taken) renamed = { ...renamed, [name]: await freeName(folder, name) };
  }
  const moved = rest.map((one) => {
    const [top = "", ...inside] = one.path.split("/");
    return renamed[top] === undefined ? one : { ...one, path: [renamed[top], ...inside].join("/") };
  });
  await queue.add(moved, {
    user,
    folder,
    key,
    conflict,
    renamed,
    endpoint: UPLOADS,
    metadata: (piece) => metadata(piece, folder, conflict),
    isThere: (piece) => isThere(piece, folder),
    unpacked,
  });
}

async function isThere(piece: Piece, folder: string): Promise<boolean> {
  const file = piece.picked[0]?.file;
  const path = below(folder, told(piece.picked[0]?.path ?? ""));
  try {
    const found = await got(api.GET("/danlu/v1/files/stat", { params: { query: { path } } }));
    return file != null && found.kind === "file" && found.size === file.size && Math.abs(found.modified_at - file.lastModified / 1000) < 1;
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return false;
    throw error;
  }
}

async function unpacked(id: string): Promise<Failure[] | null> {
  for (;;) {
    try {
      const found = await got(api.GET("/danlu/v1/files/operations/{id}", { params: { path: { id }, query: { wait: 10 } } }));
      if (found.state === "running") continue;
      if (found.state === "cancelled") return null;
      const told = found.problems.map(({ path, message_en: en, message_zh: zh }) => ({ path, refusal: { en, zh } }));
      return found.state === "failed" && told.length === 0 ? [{ path: found.target ?? "", refusal: { en: found.message_en ?? "", zh: found.message_zh ?? "" } }] : told;
    } catch (error) {
      if (error instanceof Refusal && error.status === 404) return null;
      throw error;
    }
  }
}

function metadata(piece: Piece, folder: string, conflict: string): Record<string, string> {
  const [first] = piece.picked;
  // A folder's name was free when it began: what is in it now was sent before the connection broke.
  if (piece.kind === "bundle") return { kind: "bundle", path: folder, conflict: "overwrite" };
  const path = below(folder, told(first?.path ?? ""));
  return {
    kind: "file",
    path,
    conflict: first?.path.includes("/") && conflict === "refuse" ? "overwrite" : conflict,
    modified: String((first?.file?.lastModified ?? 0) / 1000),
  };
}
