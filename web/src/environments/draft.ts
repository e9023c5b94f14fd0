import type { Schemas } from "../api/client";

/** What the form holds. `group`: null where there is nothing to choose. */
export interface Draft {
  name: string;
  image: string;
  gpus: number;
  model: string;
  cpus: string;
  memory: string;
  time_limit: string;
  idle_limit: string;
  queue: string;
  group: string | null;
}

export const BLANK: Draft = { name: "", image: "", gpus: 0, model: "", cpus: "", memory: "", time_limit: "", idle_limit: "", queue: "", group: null };

/** Judged instead of a name that is not one yet. */
export const STAND_IN = "dev";

export const nameFits = (name: string) => /^[A-Za-z0-9_]{1,27}$/.test(name) && /[A-Za-z]/.test(name);

export function unusedName(taken: string[]): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? STAND_IN : `${STAND_IN}${number}`;
    if (!taken.includes(name)) return name;
  }
}

/** The words of a field, or the number they are: 8, 0.5. */
const value = (text: string) => (/^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text.trim());

/** As the API takes it; what was left empty is the server's to set. */
export function orderOf(draft: Draft): Schemas["NewEnvironment"] {
  const typed = (["image", "cpus", "memory", "time_limit", "idle_limit", "queue"] as const).filter((key) => draft[key].trim() !== "");
  const keys = Object.fromEntries(typed.map((key) => [key, key === "image" || key === "queue" ? draft[key].trim() : value(draft[key])]));
  const gpus = draft.gpus === 0 ? {} : { gpus: draft.model === "" ? draft.gpus : `${draft.gpus}:${draft.model}` };
  return { name: draft.name, start: true, ...gpus, ...keys, ...(draft.group ? { group: draft.group } : {}) };
}

const FLAGS: [keyof Draft, string][] = [
  ["image", "--image"],
  ["cpus", "-c"],
  ["memory", "-m"],
  ["time_limit", "--time"],
  ["idle_limit", "--idle"],
  ["queue", "--queue"],
  ["group", "--group"],
];

/** The same on the command line. */
export function commandOf(draft: Draft): string {
  const gpus = draft.gpus === 0 ? [] : ["-g", draft.model === "" ? String(draft.gpus) : `${draft.gpus}:${draft.model}`];
  const flags = FLAGS.flatMap(([key, flag]) => (draft[key] ? [flag, quoted(String(draft[key]).trim())] : []));
  return ["danlu env create", quoted(draft.name), ...gpus, ...flags].join(" ");
}

const quoted = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
