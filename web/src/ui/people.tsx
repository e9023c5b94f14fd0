/** A person: a tint that separates neighbours, initials that identify. */

export function initials(name: string): string {
  const chinese = [...name].filter((char) => char >= "\u4e00" && char <= "\u9fff");
  if (chinese.length > 0) return chinese.at(-1) as string;
  const parts = name.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const [first = "?", second] = parts;
  return (second ? first.slice(0, 1) + second.slice(0, 1) : first.slice(0, 2)).toUpperCase();
}

/** Always the same one of eight for a name, on every page and every browser. */
export function tint(name: string): number {
  let hash = 2166136261;
  for (const char of name) hash = Math.imul(hash ^ (char.codePointAt(0) as number), 16777619);
  return ((hash >>> 0) % 8) + 1;
}

export function Initials({ name, me }: { name: string; me: boolean }) {
  return (
    <span className={me ? "person me" : "person"} style={{ "--tint": `var(--p${tint(name)})` } as React.CSSProperties} title={name}>
      {initials(name)}
    </span>
  );
}
