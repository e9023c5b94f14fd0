/** Paths are those a task sees: `/userhome/project/train.py`. */

/** The address of a folder or file in these pages. */
export function addressOf(path: string): string {
  return `/files${path.split("/").map(encodeURIComponent).join("/")}`;
}

/** The path that an address names; null: none. */
export function pathAt(pathname: string): string | null {
  try {
    const path = pathname.slice("/files".length).split("/").map(decodeURIComponent).join("/").replace(/\/+$/, "");
    return path === "" ? null : path;
  } catch {
    // Half of a character, as somebody typed it.
    return null;
  }
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1) || "/";
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/"))) || "/";
}

export const below = (folder: string, name: string) => `${folder.replace(/\/$/, "")}/${name}`;

/** Whether a path is a folder or inside of it. */
export const isIn = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`);

/** From the volume's own folder down to this one, each with its path. */
export function steps(path: string, root: string): { name: string; path: string }[] {
  const rest = path.slice(root.length).split("/").filter(Boolean);
  return rest.map((name, at) => ({ name, path: `${root}/${rest.slice(0, at + 1).join("/")}` }));
}

/** Why a name cannot be used; null: it can. */
export function wrongName(name: string): "empty" | "slash" | "dots" | "long" | null {
  if (name.trim() === "") return "empty";
  if (name.includes("/") || name.includes("\0")) return "slash";
  if (name === "." || name === "..") return "dots";
  return new TextEncoder().encode(name).length > 255 ? "long" : null;
}

/** `a.tar.gz` as ["a", ".tar.gz"], so that a number can stand before the ending. */
export function ending(name: string): [string, string] {
  const found = /^(.+?)((?:\.tar)?\.[A-Za-z0-9]{1,8})$/.exec(name);
  return found === null ? [name, ""] : [found[1] as string, found[2] as string];
}
