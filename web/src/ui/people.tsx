/** A person: a tint that separates neighbours, initials that identify. */

export function initials(name: string): string {
  const chinese = [...name].filter((char) => char >= "\u4e00" && char <= "\u9fff");
  if (chinese.length > 0) return chinese.at(-1) as string;
  const parts = name.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const [first = "?", second] = parts;
  return (second ? first.slice(0, 1) + second.slice(0, 1) : first.slice(0, 2)).toUpperCase();
}

export const TINTS = 8;
const KEY = "danlu.tints";
let given: Map<string, number> | undefined;

/** One of eight for a name, kept for good in this browser; two people share one only when all are taken. */
export function tint(name: string): number {
  given ??= remembered();
  const known = given.get(name);
  if (known !== undefined) return known;
  const uses = Array.from({ length: TINTS }, () => 0);
  for (const each of given.values()) uses[each - 1] = (uses[each - 1] ?? 0) + 1;
  const least = Math.min(...uses);
  // The own one of a name if it is free: mostly the same in every browser.
  const start = hash(name) % TINTS;
  const turn = Array.from({ length: TINTS }, (_, step) => (start + step) % TINTS);
  const found = (turn.find((each) => uses[each] === least) ?? start) + 1;
  given.set(name, found);
  try {
    localStorage.setItem(KEY, JSON.stringify([...given]));
  } catch {
    // A private window may refuse; the tint then lasts as long as the page.
  }
  return found;
}

function remembered(): Map<string, number> {
  try {
    const pairs = JSON.parse(localStorage.getItem(KEY) ?? "[]") as [string, number][];
    return new Map(pairs.filter(([name, each]) => typeof name === "string" && each >= 1 && each <= TINTS));
  } catch {
    return new Map();
  }
}

function hash(name: string): number {
  let found = 2166136261;
  for (const char of name) found = Math.imul(found ^ (char.codePointAt(0) as number), 16777619);
  return found >>> 0;
}

export function Initials({ name, me }: { name: string; me: boolean }) {
  return (
    <span className={me ? "person me" : "person"} style={{ "--tint": `var(--p${tint(name)})` } as React.CSSProperties} title={name}>
      {initials(name)}
    </span>
  );
}
