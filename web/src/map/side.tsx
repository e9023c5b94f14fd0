import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, got, type Schemas } from "../api/client";
import { useSaid, useWords } from "../i18n";
import { Clock, Down, Play } from "../ui/icons";
import { useNow } from "../ui/now";
import { Initials } from "../ui/people";
import { clock, duration } from "../ui/time";
import { nameOf, refPath, short } from "../ui/values";
import type { Picture } from "./model";

type WaitingJob = Schemas["WaitingJob"];

export function useWaiting() {
  return useQuery({
    queryKey: ["waiting"],
    queryFn: () => got(api.GET("/danlu/v1/waiting")),
    // Others' submissions send no event to those who may not see them.
    refetchInterval: 30_000,
  });
}

export function useMine(me: string) {
  return useQuery({
    queryKey: ["jobs", "mine"],
    queryFn: () => got(api.GET("/danlu/v1/jobs", { params: { query: { owner: me, active: true, limit: 50 } } })),
  });
}

export function Mine({ me, picture }: { me: string; picture: Picture }) {
  const words = useWords();
  const { data } = useMine(me);
  const now = useNow(15_000) / 1000;
  const jobs = data?.jobs ?? [];
  const waiting = jobs.filter((job) => job.state === "queued");
  const running = jobs.filter((job) => job.state !== "queued");
  const shown = [...running, ...waiting].slice(0, 6);
  const ends = new Map(picture.rows.flatMap((row) => row.cells.map(({ gpu }) => [gpu.job, gpu] as const)));
  return (
    <section className="card" aria-label={words.map.mine}>
      <div className="head">
        <h2>{words.map.mine}</h2>
        {data !== undefined && <span className="note">{words.map.mineSum(running.length, waiting.length)}</span>}
      </div>
      {data !== undefined && shown.length === 0 && <p className="body note">{words.map.mineNone}</p>}
      {shown.map((job) => {
        const gpu = ends.get(job.ref);
        const end = gpu?.ends ?? null;
        const since = job.started_at;
        const done = end !== null && since !== null ? Math.min(1, (now - since) / (end - since)) : null;
        const going = job.state !== "queued";
        return (
          <Link className="side-row" key={job.id} to={`/jobs/${refPath(job.ref)}`} style={{ borderTop: 0 }}>
            <div className="line">
              <span style={{ color: going ? "var(--ember)" : "var(--wait)" }}>
                {job.state === "running" ? <Play /> : going ? <Down /> : <Clock />}
              </span>
              <b className="cut" title={job.ref}>{short(nameOf(job.ref))}</b>
              <span className="note grow cut">{job.nodes.join(", ")}</span>
              <span className="note">
                {!going
                  ? job.held ? words.held : words.states["queued"]
                  : end !== null
                    ? words.map.ends(clock(end, words.time))
                    : since !== null && duration(now - since, words.time)}
              </span>
            </div>
            {done !== null && (
              <div className="meter ember" style={{ marginTop: 6 }}>
                <i style={{ width: `${done * 100}%` }} />
              </div>
            )}
          </Link>
        );
      })}
    </section>
  );
}

function Pips({ job }: { job: WaitingJob }) {
  if (job.gpus === 0) return <span className="note">CPU</span>;
  if (job.tasks > 1 || job.gpus > 8) return <span className="note">{job.tasks > 1 ? `${job.tasks} × ${job.gpus}` : job.gpus}</span>;
  return (
    <span className="pips" title={`${job.gpus}`}>
      {Array.from({ length: job.gpus }, (_, index) => <i key={index} />)}
    </span>
  );
}

function useStart() {
  const words = useWords();
  return (job: WaitingJob) => (job.eta === null ? "—" : clock(job.eta, words.time));
}

export function Queue({ me }: { me: string }) {
  const words = useWords();
  const said = useSaid();
  const start = useStart();
  const { data } = useWaiting();
  return (
    <section className="card" aria-label={words.map.queue}>
      <div className="head">
        <h2>{words.map.queue}</h2>
        <span className="note">{words.map.expected}</span>
      </div>
      {data?.jobs.length === 0 && <p className="body note">{words.map.queueNone}</p>}
      {data?.jobs.map((job) => {
        const mine = job.owner === me;
        const why = !mine && job.cause === "quota_user" ? words.map.theirQuota : said(job, "cause");
        const inside = (
          <>
            <div className="line">
              <span className="place">{job.place}</span>
              <Initials name={job.owner} me={mine} />
              <b className="cut" title={job.ref}>{short(nameOf(job.ref), 20)}</b>
              <Pips job={job} />
              <span className="grow" />
              <b title={job.eta_p90 === null ? undefined : words.map.p90(clock(job.eta_p90, words.time))}>{start(job)}</b>
            </div>
            <div className="note" style={{ paddingLeft: 26 }}>{why}</div>
          </>
        );
        return mine ? (
          <Link className="side-row mine" key={job.id} to={`/jobs/${refPath(job.ref)}`}>{inside}</Link>
        ) : (
          <div className="side-row" key={job.id}>{inside}</div>
        );
      })}
      {data !== undefined && data.waiting > data.jobs.length && (
        <Link className="side-row note" to="/jobs?state=queued">{words.map.moreWaiting(data.waiting - data.jobs.length)}</Link>
      )}
    </section>
  );
}

/** The next five in one line: where the map needs the width. */
export function NextLine({ me }: { me: string }) {
  const words = useWords();
  const start = useStart();
  const { data } = useWaiting();
  if (data === undefined || data.jobs.length === 0) return null;
  return (
    <section className="card next-line" aria-label={words.map.queue}>
      <b>{words.map.next}</b>
      {data.jobs.map((job) => (
        <span className="one" key={job.id}>
          <span className="dim">{job.place}</span>
          <Initials name={job.owner} me={job.owner === me} />
          <span>{short(nameOf(job.ref), 20)}</span>
          <span className="note">
            {job.tasks > 1 ? `${job.tasks} × ${job.gpus}` : job.gpus} {job.gpu_model ?? ""}
          </span>
          <b>{start(job)}</b>
        </span>
      ))}
    </section>
  );
}
