import { useWords } from "../i18n";
import { Initials } from "../ui/people";
import { useNow } from "../ui/now";
import { clock, duration } from "../ui/time";
import { size } from "../ui/values";
import type { Cell } from "./model";
import { useWhat } from "./what";

export interface Pointed {
  cell: Cell;
  at: DOMRect;
}

/** Beside the GPU that is pointed at: who, since when, until when. */
export function Tip({ pointed, me }: { pointed: Pointed; me: string }) {
  const words = useWords();
  const what = useWhat(me);
  const now = useNow(1000) / 1000;
  const { gpu, mine, use } = pointed.cell;
  const left = Math.min(pointed.at.left, window.innerWidth - 288);
  const below = pointed.at.bottom + 200 < window.innerHeight;
  const place = below ? { top: pointed.at.bottom + 8 } : { bottom: window.innerHeight - pointed.at.top + 8 };
  return (
    <div className="tip" role="tooltip" style={{ left: Math.max(8, left), ...place }}>
      <div className="row">
        {gpu.owner !== null && <Initials name={gpu.owner} me={mine} />}
        <b className={pointed.cell.kind === "outside" ? "grow" : "grow cut"}>{what(pointed.cell)}</b>
        <span className="dim mono">{gpu.node}</span>
      </div>
      <dl>
        <dt>GPU</dt>
        <dd>
          {gpu.index} · {gpu.model}
          {gpu.memory > 0 && ` · ${size(gpu.memory)}`}
        </dd>
        {use?.[0] != null && (
          <>
            <dt>{words.map.busy}</dt>
            <dd>
              {use[0]} %{use[1] != null && gpu.memory > 0 && ` · ${words.map.memory} ${size(use[1] * 1_048_576)} / ${size(gpu.memory)}`}
            </dd>
          </>
        )}
        {gpu.since !== null && (
          <>
            <dt>{words.map.since}</dt>
            <dd>
              {clock(gpu.since, words.time)}, {duration(now - gpu.since, words.time)}
            </dd>
            <dt>{words.map.endsBy}</dt>
            <dd>{gpu.ends == null ? words.map.noEnd : clock(gpu.ends, words.time)}</dd>
          </>
        )}
      </dl>
    </div>
  );
}
