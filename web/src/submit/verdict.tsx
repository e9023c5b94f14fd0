import type { CSSProperties } from "react";
import type { Schemas } from "../api/client";
import { useNodes } from "../api/stream";
import { useSaid, useWords } from "../i18n";
import { changeOf } from "../job/why";
import { Clock, Cross, Play } from "../ui/icons";
import { about } from "../ui/time";
import { short } from "../ui/values";

export type Preview = Schemas["Preview"];
export type Tone = "go" | "wait" | "bad";

const NEVER = ["too_large", "model_absent", "label_absent", "volume_absent", "nodes_named", "kind_limited"];

export function toneOf(why: Preview["why"]): Tone {
  if (why.starts_now) return "go";
  return why.causes.some((cause) => NEVER.includes(cause.kind)) ? "bad" : "wait";
}

/** The one line: starts now where, about when after whom, or never and why. */
export function useHeadline() {
  const words = useWords();
  const said = useSaid();
  return (why: Preview["why"]): string => {
    if (why.starts_now || toneOf(why) === "bad" || why.eta == null) return said(why, "sentence");
    const at = about(why.eta, words.time);
    return why.eta_after ? words.submit.aboutAfter(at, why.eta_after) : words.submit.about(at);
  };
}

export function Verdict({ preview, stale, apply }: { preview: Preview; stale: boolean; apply: (change: Record<string, unknown>) => void }) {
  const words = useWords();
  const said = useSaid();
  const headline = useHeadline();
  const { why } = preview;
  const tone = toneOf(why);
  const Icon = tone === "go" ? Play : tone === "wait" ? Clock : Cross;
  const numbers = [
    tone === "wait" && why.eta != null ? said(why, "sentence") : "",
    tone === "wait" && why.eta == null ? said(why, "eta_why") : "",
    tone === "wait" && why.position != null ? words.submit.place(why.position) : "",
    why.eta_p90 != null && tone === "wait" ? words.map.p90(about(why.eta_p90, words.time)) : "",
  ].filter(Boolean);
  const helps = (why.suggestions ?? []).filter((one) => one.effect !== "no_change" && changeOf(one) !== null).slice(0, 2);
  return (
    <section className={`card verdict ${tone} ${stale ? "again" : ""}`} role="status" aria-live="polite">
      <Icon size={20} />
      <div className="grow">
        <p className="sentence">{headline(why)}</p>
        {numbers.length > 0 && <p className="dim2">{numbers.join(words.submit.stop)}</p>}
        <MiniMap preview={preview} />
        {helps.map((one) => (
          <button key={`${one.kind}${said(one)}`} className="what-if" onClick={() => apply(changeOf(one) ?? {})}>
            <span className="change">{said(one)}</span>
            <span className={`result ${one.effect}`}>
              {one.effect === "starts_now" ? <Play size={14} /> : <Clock size={14} />}
              {one.effect === "starts_now" ? words.why.startsNow : said(one, "effect")}
            </span>
            <span className="note reason">{one.nodes.join(", ")}</span>
          </button>
        ))}
      </div>
    </section>
  );
}

/** The very GPUs it would get, among all. */
function MiniMap({ preview }: { preview: Preview }) {
  const nodes = useNodes();
  if (nodes === null || nodes.size > 16 || [...nodes.values()].every((node) => node.gpus.length === 0)) return null;
  const taken = new Map((preview.why.places ?? []).map((place) => [place.node, place.gpus]));
  return (
    <div className="mini">
      {[...nodes.values()].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true })).map((node) => (
        <div key={node.name}>
          <span className="note">{short(node.name, 10)}</span>
          <div className="mini-row" style={{ "--n": node.gpus.length } as CSSProperties}>
            {node.gpus.map((gpu) => {
              const mine = taken.get(node.name)?.includes(gpu.index) ?? false;
              return <i key={gpu.index} className={mine ? "mine" : gpu.state === "free" ? "free" : ""}>{mine ? gpu.index : ""}</i>;
            })}
          </div>
        </div>
      ))}
    </div>
  );
}
