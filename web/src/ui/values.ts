/** 7, 7.5, 7.25: whole where it is whole. */
export function amount(value: number): string {
  return String(Math.round(value * 100) / 100);
}

const UNITS = ["B", "KB", "MB", "GB", "TB"];

/** As people say sizes: 24 GB, 1.5 TB; powers of 1024. */
export function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value < 10 && unit > 0 ? Math.round(value * 10) / 10 : Math.round(value)} ${UNITS[unit]}`;
}

/** 0, 1, 2, 5 as 0–2, 5. */
export function ranges(indexes: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const index of [...indexes].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last !== undefined && index === last[1] + 1) last[1] = index;
    else runs.push([index, index]);
  }
  return runs.map(([a, b]) => (a === b ? `${a}` : `${a}–${b}`)).join(", ");
}

/** alice/mnist-3 as the address of its page and of the API. */
export function refPath(ref: string): string {
  return encodeURIComponent(ref.replace("/", "~"));
}

export function nameOf(ref: string): string {
  return ref.slice(ref.indexOf("/") + 1);
}

/** At most 27 characters; the whole belongs into a tooltip. */
export function short(name: string, most = 27): string {
  return name.length > most ? `${name.slice(0, most - 1)}…` : name;
}

/** 60G, 512M or plain bytes; null where it is not an amount. */
export function bytesOf(value: unknown): number | null {
  const found = /^(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?$/i.exec(String(value ?? ""));
  return found === null ? null : Number(found[1]) * 1024 ** " KMGT".indexOf((found[2] || " ").toUpperCase());
}

/** The other way round, where that is exact: 500G, or plain bytes. */
export function writtenBytes(bytes: number): string {
  const power = bytes === 0 ? 0 : Math.max(...[0, 1, 2, 3, 4].filter((each) => bytes % 1024 ** each === 0));
  return `${bytes / 1024 ** power}${" KMGT"[power]}`.trim();
}

/** 2h31m, 1d or plain seconds; null where it is not a time. */
export function secondsOf(value: unknown): number | null {
  const text = String(value ?? "");
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  if (!/^(\d+(\.\d+)?[dhms])+$/.test(text)) return null;
  const units: Record<string, number> = { d: 86_400, h: 3600, m: 60, s: 1 };
  return [...text.matchAll(/(\d+(?:\.\d+)?)([dhms])/g)].reduce((sum, [, count, unit]) => sum + Number(count) * (units[unit ?? ""] ?? 0), 0);
}
