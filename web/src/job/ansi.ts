/** A line as a terminal shows it: colours, and what a carriage return overwrites. */

export interface Span {
  text: string;
  style: string; // class names
}

const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
const ESCAPE = /^\x1b(?:\[([0-9;?]*)([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])/;
const WIDEST = 4000; // characters of a line that are drawn

export function rendered(line: string): Span[] {
  if (!/[\x00-\x1f\x7f]/.test(line)) return line === "" ? [] : [{ text: line.slice(0, WIDEST), style: "" }];
  const text: string[] = [];
  const styles: string[] = [];
  let at = 0;
  let style = "";
  const points = [...line];
  for (let index = 0; index < points.length; index += 1) {
    const point = points[index] as string;
    if (point === "\x1b") {
      const found = ESCAPE.exec(points.slice(index, index + 64).join(""));
      if (found === null) continue;
      index += [...found[0]].length - 1;
      const [, values = "", kind] = found;
      if (kind === "m") style = restyled(style, values);
      else if (kind === "K") {
        const from = values === "" || values === "0" ? at : 0;
        const to = values === "1" ? at : text.length;
        for (let cell = from; cell < to; cell += 1) text[cell] = " ";
      } else if (kind === "C") at += Number(values) || 1;
      else if (kind === "D") at = Math.max(0, at - (Number(values) || 1));
      else if (kind === "G") at = Math.max(0, (Number(values) || 1) - 1);
      at = Math.min(at, WIDEST);
    } else if (point === "\r") at = 0;
    else if (point === "\b") at = Math.max(0, at - 1);
    else if (point === "\t") {
      do put(" ");
      while (at % 8 !== 0 && at < WIDEST);
    } else if (point >= " " && point !== "\x7f") put(point);
  }
  return joined();

  function put(point: string) {
    if (at >= WIDEST) return;
    while (text.length < at) {
      text.push(" ");
      styles.push("");
    }
    text[at] = point;
    styles[at] = style;
    at += 1;
  }

  function joined(): Span[] {
    const spans: Span[] = [];
    text.forEach((point, cell) => {
      const last = spans.at(-1);
      const own = styles[cell] ?? "";
      if (last !== undefined && last.style === own) last.text += point;
      else spans.push({ text: point, style: own });
    });
    return spans;
  }
}

function restyled(before: string, values: string): string {
  const kept = new Set(before.split(" ").filter(Boolean));
  const codes = values.split(";").map(Number);
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] as number;
    if (code === 0) kept.clear();
    else if (code === 1) kept.add("bold");
    else if (code === 2) kept.add("faint");
    else if (code === 4) kept.add("under");
    else if (code === 22) ["bold", "faint"].forEach((name) => kept.delete(name));
    else if (code === 24) kept.delete("under");
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) colour(COLOURS[code % 10]);
    else if (code === 39) colour(undefined);
    else if (code === 38 || code === 48) {
      // Of the many colours only the first sixteen have names here.
      if (codes[index + 1] === 5) {
        if (code === 38) colour((codes[index + 2] as number) < 16 ? COLOURS[(codes[index + 2] as number) % 8] : undefined);
        index += 2;
      } else index += 4;
    }
  }
  return [...kept].join(" ");

  function colour(name: string | undefined) {
    COLOURS.forEach((one) => kept.delete(`c-${one}`));
    if (name !== undefined) kept.add(`c-${name}`);
  }
}
