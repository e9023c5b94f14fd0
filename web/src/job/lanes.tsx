import type { CSSProperties } from "react";
import { useMe } from "../api/session";
import { useWords } from "../i18n";
import { tint } from "../ui/people";
import { about, clock, duration } from "../ui/time";
import { nameOf } from "../ui/values";
import { ticksOf } from "./ticks";
import type { Why } from "./why";

const MOST_NODES = 2;
const MOST_EACH = 5;

/** Who holds what on the nodes that open first, as bars over time; lines for the likely and the careful start. */
export function Lanes({ why, limit }: { why: Why; limit: number | null }) {
  const words = useWords();
  const me = useMe().user;
  const now = Date.now() / 1000;
  const holders = why.holders ?? [];
  const ends = (one: (typeof holders)[number]) => one.expected_end ?? one.latest_end ?? Infinity;
  const nodes = [...new Set(holders.map((one) => one.node))]
    .map((node) => ({ node, held: holders.filter((one) => one.node === node).sort((a, b) => ends(a) - ends(b)) }))
    .sort((a, b) => ends(a.held[0] as (typeof holders)[number]) - ends(b.held[0] as (typeof holders)[number]));
  const shown = nodes.slice(0, MOST_NODES);
  const known = [why.eta_p90, why.eta, ...shown.flatMap((one) => one.held.slice(0, MOST_EACH).map(ends))].filter(
    (at): at is number => at != null && at !== Infinity,
  );
  const span = Math.max(600, Math.min(24 * 3600, 1.3 * (Math.max(now + 600, ...known) - now)));
  const x = (at: number) => `${Math.min(100, Math.max(0, (100 * (at - now)) / span))}%`;
  return (
    <section className="card lanes" aria-label={words.why.lanes}>
      <div className="body">
        <div className="row">
          <h2 className="grow">{words.why.lanes}</h2>
          <span className="note">{words.why.lanesNote(clock(now, words.time))}</span>
        </div>
        <div className="axis">
          <div className="ticks">
            <span style={{ left: 0 }}><b>{words.time.now}</b></span>
            {ticksOf(now, span).map((at) => <span key={at} style={{ left: x(at) }}>{clock(at, words.time)}</span>)}
          </div>
        </div>
        {why.eta != null && (
          <div className="lane own">
            <b>{words.why.thisJob}</b>
            <div className="bars">
              <div className="bar-row">
                <i className="until" style={{ width: x(why.eta) }} />
                <i className="planned" style={{ left: x(why.eta), width: `calc(${x(limit === null ? now + span : why.eta + limit)} - ${x(why.eta)})` }} />
                <span className="name cut" style={{ marginLeft: x(why.eta) }}>{limit === null ? words.map.noEnd : words.why.upTo(duration(limit, words.time))}</span>
              </div>
            </div>
          </div>
        )}
        {shown.map(({ node, held }) => (
          <div className="lane" key={node}>
            <b>{node}</b>
            <div className="bars">
              {held.slice(0, MOST_EACH).map((one) => {
                const likely = one.expected_end ?? one.latest_end ?? null;
                const mine = one.owner === me;
                const style = { width: likely === null ? "100%" : x(likely), "--tint": `var(--p${tint(one.owner)})` } as CSSProperties;
                return (
                  <div className="bar-row" key={one.ref}>
                    <i className={`bar ${mine ? "mine" : ""} ${likely === null ? "open" : ""}`} style={style} />
                    {likely !== null && one.latest_end != null && one.latest_end > likely && (
                      <i className="may" style={{ left: x(likely), width: `calc(${x(one.latest_end)} - ${x(likely)})` }} />
                    )}
                    <span className="name cut" title={one.ref}>
                      {mine ? words.why.you : one.owner} · {nameOf(one.ref)}
                      {one.gpus.length > 1 ? ` ×${one.gpus.length}` : ""}
                      {one.outside ? ` · ${words.map.outside}` : ""}
                      {likely === null ? ` · ${words.map.noEnd}` : ""}
                    </span>
                  </div>
                );
              })}
              {held.length > MOST_EACH && <span className="note">+{held.length - MOST_EACH}</span>}
              {why.eta != null && <i className="line50" style={{ left: x(why.eta) }} />}
              {why.eta_p90 != null && <i className="line90" style={{ left: x(why.eta_p90) }} />}
            </div>
          </div>
        ))}
        {why.eta != null && (
          <div className="axis foot">
            <div className="ticks">
              <span className="p50" style={{ left: x(why.eta) }}>{about(why.eta, words.time)}</span>
            </div>
          </div>
        )}
      </div>
    </section>
  );
}
