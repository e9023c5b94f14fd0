import { Document, isMap, parseDocument, type YAMLMap } from "yaml";

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
  return doc === null ? null : fieldsIn(doc);
}

/** A job with several roles has the fields of a task once for each of them. Empty: it has none. */
export function rolesOf(text: string): { name: string; fields: Fields }[] {
  const roles = parsed(text)?.get("roles");
  if (!isMap(roles)) return [];
  return roles.items.flatMap(({ key, value }) => (isMap(value) ? [{ name: String(key), fields: fieldsIn(value) }] : []));
}

type Change = Partial<Record<keyof Fields | "queue", unknown>>;

/** The text with one value changed, in the job or in one of its roles; comments and order stay. */
export function changed(text: string, change: Change, role?: string): string {
  const doc = parsed(text) ?? new Document({});
  const roles = role === undefined ? undefined : doc.get("roles");
  const where = isMap(roles) ? roles.items.find(({ key }) => String(key) === role)?.value : doc;
  if (where instanceof Document || isMap(where)) put(where, change);
  return doc.toString({ lineWidth: 0 });
}

/** Several jobs as one text. */
export function together(jobs: string[]): string {
  return jobs.map((job) => (job.endsWith("\n") ? job : `${job}\n`)).join("---\n");
}

type Values = Document | YAMLMap;

function fieldsIn(values: Values): Fields {
  const [gpus, model] = gpusOf(values.get("gpus"));
  return {
    name: words(values.get("name")),
    image: words(values.get("image")),
    command: commandOf(values.toJSON() as Record<string, unknown>),
    gpus,
    model,
    count: words(values.get("count")),
    cpus: words(values.get("cpus")),
    memory: words(values.get("memory")),
    shm: words(values.get("shm")),
    time_limit: words(values.get("time_limit")),
  };
}

function put(values: Values, change: Change): void {
  const [gpus, model] = gpusOf(values.get("gpus"));
  for (const [key, value] of Object.entries(change)) {
    if (key === "gpus" || key === "model") continue;
    if (value === "" || value === null || value === undefined) values.delete(key);
    else values.set(key, key === "command" ? `${value as string}` : typeof value === "string" && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value);
  }
  if ("gpus" in change || "model" in change) {
    const count = "gpus" in change ? (change.gpus as number | null) : gpus;
    const kind = "model" in change ? ((change.model as string | null) ?? "") : model;
    if (!count) values.delete("gpus");
    else values.set("gpus", kind === "" ? count : `${count}:${kind}`);
  }
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

const FOREIGN = ["protocolVersion", "taskRoles", "entrypoint", "JobSpecs", "resources"];

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
