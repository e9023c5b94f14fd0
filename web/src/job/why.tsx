import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, got, type Schemas } from "../api/client";
import { useMe } from "../api/session";
import { useSaid, useWords } from "../i18n";
import { Clock, Cross, Grid, Play, Tick } from "../ui/icons";
import { useNow } from "../ui/now";
import { Problem } from "../ui/problem";
import { about, clock, duration } from "../ui/time";
import { secondsOf } from "../ui/values";
import { Lanes } from "./lanes";
import type { JobDetail } from "./page";
import "./why.css";

export type Why = Schemas["Why"];
type WhatIf = Schemas["WhatIf"];

const NEVER = ["too_large", "model_absent", "label_absent", "volume_absent", "nodes_named"];

/** Why a job waits: the sentence first, then when, what would help, and what is not in the way. */
export function WhyPanel({ job, events }: { job: JobDetail; events: Schemas["Event"][] }) {
  const { id } = job;
  const words = useWords();
  const said = useSaid();
  const why = useQuery({
    queryKey: ["why", id],
    queryFn: () => got(api.GET("/danlu/v1/jobs/{ref}/why", { params: { path: { ref: id } } })),
    refetchInterval: 30_000,
  });
  const now = useNow(1000) / 1000;
  if (why.error !== null && why.data === undefined) return <Problem error={why.error} retry={() => void why.refetch()} />;
  const found = why.data;
  if (found === undefined) return <div className="card why-card" aria-busy="true" style={{ minHeight: 108 }} />;
  const eta = found.eta ?? null;
  const age = Math.max(0, Math.round(now - why.dataUpdatedAt / 1000));
  return (
    <>
      <section className="card why-card" aria-label={words.why.title}>
        <div className="grow">
          <div className="note">
            {words.why.title}
            {found.position != null && ` · ${words.why.place(found.position)}`}
          </div>
          <p className="sentence">{said(found, "sentence")}</p>
          <p className="dim2">{eta !== null && found.eta_after ? words.why.after(found.eta_after) : said(found, "eta_why")}</p>
        </div>
        {eta !== null && (
          <div className="when">
            <div>
              <div className="note">{words.why.likely}</div>
              <b className="p50">{about(eta, words.time)}</b>
              <div className="note">{words.time.inTime(duration(Math.max(60, eta - now), words.time))}</div>
              {found.eta_p90 == null && <div className="note">{words.why.basis(found.eta_basis ?? "")}</div>}
            </div>
            {found.eta_p90 != null && (
              <div>
                <div className="note">{words.why.p90}</div>
                <b>{about(found.eta_p90, words.time)}</b>
                <div className="note">{words.why.basis(found.eta_basis ?? "")}</div>
              </div>
            )}
          </div>
        )}
      </section>
      <div className="why-grid">
        <div className="stack">
          {(found.holders ?? []).length > 0 && <Lanes why={found} limit={secondsOf(job.spec["time_limit"])} />}
          <Causes why={found} />
        </div>
        <div className="stack side-why">
          {(found.suggestions ?? []).length > 0 && (
            <section className="card">
              <div className="body">
                <h2>{words.why.sooner}</h2>
                <p className="note">{words.why.tried(duration(age, words.time))}</p>
                <ul className="what-ifs">
                  {[...(found.suggestions ?? [])].sort((a, b) => Number(a.effect === "no_change") - Number(b.effect === "no_change")).map((one) => (
                    <WhatIfRow key={`${one.kind}${said(one)}`} one={one} id={id} />
                  ))}
                </ul>
              </div>
            </section>
          )}
          <History events={events} />
        </div>
      </div>
    </>
  );
}

/** The change as the submit page understands it. */
export function changeOf(one: WhatIf): Record<string, unknown> | null {
  const n = one.numbers as Record<string, never>;
  switch (one.kind) {
    case "fewer_gpus":
      return { gpus: n["gpus"] };
    case "split":
      return { gpus: n["gpus"], count: n["tasks"] };
    case "any_model":
      return { model: null };
    case "other_model":
      return { model: n["model"] };
    case "less_cpu_memory":
      return { cpus: n["cpus"], memory: n["memory"] };
    case "other_queue":
      return { queue: n["queue"] };
    case "shorter":
      return { time_limit: n["seconds"] };
    default:
      return null;
  }
}

function WhatIfRow({ one, id }: { one: WhatIf; id: string }) {
  const words = useWords().why;
  const said = useSaid();
  const queries = useQueryClient();
  const helps = one.effect !== "no_change";
  const change = one.change ?? {};
  const going = useMutation({
    mutationFn: () => got(api.PATCH("/danlu/v1/jobs/{ref}", { params: { path: { ref: id } }, body: change as Schemas["JobChanges"] })),
    onSuccess: () => queries.invalidateQueries(),
  });
  const [, result, reason] = /^(.*?)(?:(?:: |：)(.*))?$/s.exec(said(one, "effect")) ?? [];
  const inside = (
    <>
      <span className="change">{said(one)}</span>
      <span className={`result ${one.effect}`}>
        {one.effect === "starts_now" ? <Play size={14} /> : helps ? <Clock size={14} /> : null}
        {one.effect === "starts_now" ? words.startsNow : result}
      </span>
      <span className="note reason">{one.effect === "starts_now" ? one.nodes.join(", ") : (reason ?? "")}</span>
    </>
  );
  return (
    <li>
      {helps && Object.keys(change).length > 0 ? (
        <button className="what-if" title={words.apply} disabled={going.isPending} onClick={() => going.mutate()}>{inside}</button>
      ) : (
        <div className={`what-if ${helps ? "" : "nothing"}`}>{inside}</div>
      )}
      {going.error !== null && <Problem error={going.error} />}
    </li>
  );
}

/** A node with one of these has nothing for this job, however much of it is idle. */
const NOT_FOR_IT = ["up", "drained", "queue", "named", "labels", "volumes", "model"];

/** When the node has enough, if those who hold it end as expected. */
function opensAt(why: Why, node: Why["nodes"][number]): number | null {
  if (node.lacks.some((what) => NOT_FOR_IT.includes(what)) || !node.lacks.includes("gpus")) return null;
  let free = node.free;
  const ends = (why.holders ?? [])
    .filter((one) => one.node === node.node)
    .map((one) => ({ at: one.expected_end ?? one.latest_end ?? Infinity, gpus: one.gpus.length }))
    .sort((a, b) => a.at - b.at);
  for (const end of ends) {
    free += end.gpus;
    if (free >= node.need) return end.at === Infinity ? null : end.at;
  }
  return null;
}

function Causes({ why }: { why: Why }) {
  const { why: words, time } = useWords();
  const said = useSaid();
  const me = useMe().user;
  // Also those that would do: the free GPUs of all rows are those of the sentence.
  const nodes = [...why.nodes].sort((a, b) => Number(a.fits) - Number(b.fits));
  const shown = nodes.slice(0, 5);
  const more = nodes.length - shown.length + (why.more_nodes ?? 0);
  return (
    <section className="card causes">
      <div className="body">
        <h2>
          {words.causes} <span className="dim">{why.causes.length}</span>
        </h2>
        {why.causes.map((cause, index) => (
          <div className="cause" key={`${cause.kind}${index}`}>
            <span className={NEVER.includes(cause.kind) ? "bad" : ""}>{NEVER.includes(cause.kind) ? <Cross /> : <Grid />}</span>
            <div className="grow">
              <b>{said(cause)}</b>
              {index === 0 && shown.length > 0 && (
                <table className="table">
                  <thead>
                    <tr>
                      <th>{words.node}</th>
                      <th className="num">{words.free}</th>
                      <th className="num">{words.needs}</th>
                      <th>{words.inTheWay}</th>
                      <th className="num">{words.opens}</th>
                    </tr>
                  </thead>
                  <tbody>
                    {shown.map((node) => {
                      const out = node.lacks.some((what) => NOT_FOR_IT.includes(what));
                      const opens = opensAt(why, node);
                      return (
                        <tr key={node.node}>
                          <td><b>{node.node}</b></td>
                          <td className="num">{out ? "–" : <span className={node.lacks.includes("gpus") ? "fails" : ""}>{node.free}</span>}</td>
                          <td className="num">{node.need}</td>
                          <td className="note">
                            {[
                              ...node.lacks.filter((what) => what !== "gpus").map((what) => words.lacks(what)),
                              ...node.holders.map((ref) => (ref.startsWith(`${me}/`) ? words.yours(ref.slice(me.length + 1)) : ref)),
                            ].join(words.comma)}
                          </td>
                          <td className="num">{opens === null ? "–" : clock(opens, time)}</td>
                        </tr>
                      );
                    })}
                  </tbody>
                </table>
              )}
              {index === 0 && more > 0 && <p className="note">{words.moreNodes(more)}</p>}
            </div>
          </div>
        ))}
        {said(why, "clear") !== "" && (
          <p className="note clear">
            <Tick size={14} /> {said(why, "clear")}
          </p>
        )}
      </div>
    </section>
  );
}

export function History({ events }: { events: Schemas["Event"][] }) {
  const words = useWords();
  const said = useSaid();
  return (
    <section className="card">
      <div className="body">
        <h2>{words.why.history}</h2>
        <ol className="history">
          {[...events].reverse().slice(0, 30).map((event) => (
            <li key={event.seq}>
              <span className="grow">{said(event)}</span>
              <time className="note" dateTime={new Date(event.at * 1000).toISOString()}>{clock(event.at, words.time)}</time>
            </li>
          ))}
        </ol>
      </div>
    </section>
  );
}
