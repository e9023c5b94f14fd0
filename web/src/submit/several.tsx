import { useWords } from "../i18n";
import { Clock, Cross, Play } from "../ui/icons";
import { toneOf, useHeadline, type Preview } from "./verdict";

/** Its name, else its command: what somebody knows it by. */
export function nameOfSpec(spec: Record<string, unknown>, index: number): string {
  const { name, command } = spec as { name?: unknown; command?: unknown };
  if (typeof name === "string" && name !== "") return name;
  const words = Array.isArray(command) ? command.map(String).join(" ") : command;
  return typeof words === "string" && words.trim() !== "" ? (words.trim().split("\n")[0] as string).slice(0, 80) : `${index + 1}`;
}

/** The verdict on each of several jobs in one file: a line each. */
export function Several({ previews, stale }: { previews: Preview[]; stale: boolean }) {
  const words = useWords().submit;
  const headline = useHeadline();
  const tones = previews.map((each) => toneOf(each.why));
  const worst = tones.includes("bad") ? "bad" : tones.includes("wait") ? "wait" : "go";
  return (
    <section className={`card verdict ${worst} ${stale ? "again" : ""}`} role="status" aria-live="polite">
      <div className="grow">
        <p className="sentence">{words.several(previews.length)}</p>
        <ol className="several">
          {previews.map((each, index) => {
            const tone = tones[index];
            const Icon = tone === "go" ? Play : tone === "wait" ? Clock : Cross;
            return (
              <li key={index} className={tone}>
                <Icon size={14} />
                <b className="cut">{nameOfSpec(each.spec, index)}</b>
                <span>{headline(each.why)}</span>
              </li>
            );
          })}
        </ol>
      </div>
    </section>
  );
}
