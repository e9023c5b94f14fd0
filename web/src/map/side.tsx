import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, got, type Schemas } from "../api/client";
import { useSaid, useWords } from "../i18n";
import { Clock, Down, Play } from "../ui/icons";
import { useNow } from "../ui/now";
import { Initials } from "../ui/people";
import { about, clock, duration } from "../ui/time";
import { nameOf, refPath, short } from "../ui/values";
import { usePicture } from "./live";

type WaitingJob = Schemas["WaitingJob"];

const WHOLE_QUEUE = 500;
const RUNNING = "running,starting,stopping";
const SHOWN = 6;

export function useWaiting(whole = false) {
  const query = whole ? { limit: WHOLE_QUEUE } : {};
  return useQuery({
    queryKey: ["waiting", whole],
    queryFn: () => got(api.GET("/danlu/v1/waiting", { params: { query } })),
    // Others' submissions send no event to those who may not see them.
    refetchInterval: 30_000,
    placeholderData: keepPreviousData,
  });
}

/** A few to show, and the number of all: counted by the server, however many there are. */
function useSome(owner: string, state: string, fold: boolean) {
  const { data } = useQuery({
    queryKey: ["jobs", "mine", owner, state],
    queryFn: () => got(api.GET("/danlu/v1/jobs", { params: { query: { owner, state, fold, counts: true, limit: SHOWN } } })),
  });
  const count = Object.values(data?.counts ?? {}).reduce((sum, each) => sum + each, 0);
  return data && { jobs: data.jobs, count };
}

/** Keeps a person's GPUs and fades the others while their row is pointed at. */
export type Point = (person: string | null) => void;

const pointing = (point: Point, person: string) => ({
  onPointerEnter: () => point(person),
  onPointerLeave: () => point(null),
  onFocus: () => point(person),
  onBlur: () => point(null),
});

export function Mine({ me, point }: { me: string; point: Point }) {
  const words = useWords();
  const rows = usePicture(me)?.rows.filter((row) => row.mine > 0) ?? [];
  const running = useSome(me, RUNNING, false);
  const waiting = useSome(me, "queued", true);
  const now = useNow(15_000) / 1000;
  const ends = new Map(rows.flatMap((row) => row.cells.map(({ gpu }) => [gpu.job, gpu] as const)));
  if (running === undefined || waiting === undefined) return <section className="card" aria-label={words.map.mine} aria-busy="true" style={{ minHeight: 96 }} />;
  const shown = [...running.jobs, ...waiting.jobs].slice(0, SHOWN);
  const standFor = shown.reduce((sum, job) => sum + (job.elements?.["queued"] ?? 1), 0);
  const more = running.count + waiting.count - standFor;
  return (
    <section className="card" aria-label={words.map.mine} {...pointing(point, me)}>
      <div className="head">
        <h2>{words.map.mine}</h2>
        <span className="note">{words.map.mineSum(running.count, waiting.count)}</span>
      </div>
      {shown.length === 0 && <p className="body note">{words.map.mineNone}</p>}
      {shown.map((job) => {
        const gpu = ends.get(job.ref);
        const end = gpu?.ends ?? null;
        const since = job.started_at;
        const done = end !== null && since !== null ? Math.min(1, (now - since) / (end - since)) : null;
        const going = job.state !== "queued";
        const elements = job.elements?.["queued"] ?? 1;
        const ref = elements > 1 ? job.ref.slice(0, job.ref.lastIndexOf(".")) : job.ref;
        return (
          <Link className="side-row" key={job.id} to={`/jobs/${refPath(job.ref)}`} style={{ borderTop: 0 }}>
            <div className="line">
              <span style={{ color: going ? "var(--ember)" : "var(--wait)" }}>
                {job.state === "running" ? <Play /> : going ? <Down /> : <Clock />}
              </span>
              <b className="cut" title={ref}>{short(nameOf(ref))}</b>
              {elements > 1 && <span className="note">× {elements}</span>}
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
      {more > 0 && <Link className="side-row note" to="/jobs?ended=no">{words.map.moreWaiting(more)}</Link>}
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
  return (job: WaitingJob) => (job.eta === null ? "—" : about(job.eta, words.time));
}

interface QueueProps {
  me: string;
  whole: boolean;
  showWhole: (whole: boolean) => void;
  point: Point;
}

export function Queue({ me, whole, showWhole, point }: QueueProps) {
  const words = useWords();
  const said = useSaid();
  const start = useStart();
  const { data } = useWaiting(whole);
  const left = data === undefined ? 0 : data.waiting - data.jobs.length;
  return (
    <section className="card" aria-label={words.map.queue} id="queue">
      <div className="head">
        <h2>{words.map.queue}</h2>
        <span className="note">{words.map.expected}</span>
      </div>
      {data?.waiting === 0 && <p className="body note">{words.map.queueNone}</p>}
      <div className={whole ? "whole-queue" : ""} {...(whole ? { tabIndex: 0, role: "group", "aria-label": words.map.allWaiting } : {})}>
        {data?.jobs.map((job) => {
          const mine = job.owner === me;
          const why = !mine && job.cause === "quota_user" ? words.map.theirQuota : said(job, "cause");
          const inside = (
            <>
              <div className="line">
                <span className="place">{job.place ?? "–"}</span>
                <Initials name={job.owner} me={mine} />
                <b className="cut" title={job.ref}>{short(nameOf(job.ref), 20)}</b>
                <Pips job={job} />
                <span className="grow" />
                <b title={job.eta_p90 === null ? undefined : words.map.p90(about(job.eta_p90, words.time))}>{start(job)}</b>
              </div>
              {why !== "" && <div className="note" style={{ paddingLeft: 26 }}>{why}</div>}
            </>
          );
          return mine ? (
            <Link className="side-row mine" key={job.id} to={`/jobs/${refPath(job.ref)}`} {...pointing(point, job.owner)}>{inside}</Link>
          ) : (
            <div className="side-row" key={job.id} {...pointing(point, job.owner)}>{inside}</div>
          );
        })}
      </div>
      {left > 0 && !whole && (
        <button className="side-row note" aria-expanded={false} onClick={() => showWhole(true)}>{words.map.moreWaiting(left)}</button>
      )}
      {left > 0 && whole && <p className="side-row note">{words.map.moreWaiting(left)}</p>}
      {whole && <button className="side-row note" aria-expanded onClick={() => showWhole(false)}>{words.map.onlyNext}</button>}
    </section>
  );
}

/** The next five in one line: where the map needs the width. */
export function NextLine({ me, showWhole }: { me: string; showWhole: ((whole: boolean) => void) | null }) {
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
      {showWhole !== null && data.waiting > data.jobs.length && (
        <button className="linklike" onClick={() => showWhole(true)}>{words.map.all(data.waiting)}</button>
      )}
    </section>
  );
}
