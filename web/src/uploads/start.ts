import { below, ending, parentOf } from "../files/paths";
import { exists, UPLOADS } from "../files/asks";
import type { Taken } from "../files/dialogs";
import { unfinished } from "./journal";
import { topNames } from "./pick";
import type { Picked, Piece } from "./plan";
import { keyOf, queue } from "./queue";

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
    else conflict = choice;
    const folders = new Set(picked.filter(({ path, file }) => path.includes("/") || file === null).map(({ path }) => path.split("/", 1)[0] as string));
    if (choice === "rename") {
      for (const name of taken.filter((one) => folders.has(one))) renamed = { ...renamed, [name]: await freeName(folder, name) };
    }
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
  });
}

function metadata(piece: Piece, folder: string, conflict: string): Record<string, string> {
  const [first] = piece.picked;
  // A folder's name was free when it began: what is in it now was sent before the connection broke.
  if (piece.kind === "bundle") return { kind: "bundle", path: folder, conflict: conflict === "rename" ? "rename" : "overwrite" };
  const path = below(folder, told(first?.path ?? ""));
  return {
    kind: "file",
    path,
    folders: parentOf(path),
    conflict: first?.path.includes("/") && conflict === "refuse" ? "overwrite" : conflict,
    modified: String((first?.file?.lastModified ?? 0) / 1000),
  };
}
