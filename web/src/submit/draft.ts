import { Document, isMap, parseDocument } from "yaml";

/** One job as text; the form and the YAML are two views of it. */

export const BLANK = "command: |\n  python train.py\ngpus: 1\n";

export interface Fields {
  name: string;
  image: string;
  command: string;
  gpus: number | null;
  model: string;
  count: string;
  cpus: string;
  memory: string;
  shm: string;
  time_limit: string;
}

/** null: the text is not one job of our own kind, so the form has nothing to show. */
export function fieldsOf(text: string): Fields | null {
  const doc = parsed(text);
  if (doc === null) return null;
  const [gpus, model] = gpusOf(doc.get("gpus"));
  return {
    name: words(doc.get("name")),
    image: words(doc.get("image")),
    command: commandOf(doc.toJS() as Record<string, unknown>),
    gpus,
    model,
    count: words(doc.get("count")),
    cpus: words(doc.get("cpus")),
    memory: words(doc.get("memory")),
    shm: words(doc.get("shm")),
    time_limit: words(doc.get("time_limit")),
  };
}

/** The text with one value changed; comments and order stay. */
export function changed(text: string, change: Partial<Record<keyof Fields | "queue", unknown>>): string {
  const doc = parsed(text) ?? new Document({});
  const [gpus, model] = gpusOf(doc.get("gpus"));
  for (const [key, value] of Object.entries(change)) {
    if (key === "gpus" || key === "model") continue;
    if (value === "" || value === null || value === undefined) doc.delete(key);
    else doc.set(key, key === "command" ? `${value as string}` : typeof value === "string" && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value);
  }
  if ("gpus" in change || "model" in change) {
    const count = "gpus" in change ? (change.gpus as number | null) : gpus;
    const kind = "model" in change ? ((change.model as string | null) ?? "") : model;
    if (!count) doc.delete("gpus");
    else doc.set("gpus", kind === "" ? count : `${count}:${kind}`);
  }
  return doc.toString({ lineWidth: 0 });
}

function parsed(text: string): Document | null {
  try {
    const doc = parseDocument(text, { prettyErrors: false });
    if (doc.errors.length > 0) return null;
    if (doc.contents === null) return new Document({});
    return isMap(doc.contents) && !FOREIGN.some((key) => doc.has(key)) ? (doc as unknown as Document) : null;
  } catch {
    return null;
  }
}

const FOREIGN = ["protocolVersion", "taskRoles", "entrypoint", "JobSpecs", "resources", "roles"];

function gpusOf(value: unknown): [number | null, string] {
  if (typeof value === "number") return [value, ""];
  if (typeof value === "string") {
    const [count = "", model = ""] = value.split(":");
    return [Number(count) || 0, model];
  }
  if (isMap(value)) {
    const map = value.toJSON() as { count?: number; fraction?: number; model?: string };
    return [map.count ?? map.fraction ?? null, map.model ?? ""];
  }
  return [0, ""];
}

function commandOf(values: Record<string, unknown>): string {
  const command = values["command"] ?? "";
  return Array.isArray(command) ? command.map(String).join(" ") : words(command).replace(/\n$/, "");
}

function words(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}
