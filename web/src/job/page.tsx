import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { api, got, type Schemas } from "../api/client";
import { useMe } from "../api/session";
import { Curves } from "../doors/curves";
import { Ports } from "../doors/ports";
import { useSaid, useWords } from "../i18n";
import { SaveButton } from "../images/save-button";
import { Cross, Square, Tick } from "../ui/icons";
import { useNow } from "../ui/now";
import { Problem, useProblem } from "../ui/problem";
import { Sheet } from "../ui/sheet";
import { StateBadge } from "../ui/state";
import { clock, duration } from "../ui/time";
import { bytesOf, nameOf, ranges, refPath, secondsOf, size } from "../ui/values";
import { Log } from "./log";
import { Steps } from "./steps";
import { taskName, Tasks } from "./tasks";
import { openBefore } from "./terminal-names";
import { History, WhyPanel } from "./why";

const Charts = lazy(() => import("./charts"));
const Terminal = lazy(() => import("./terminal"));

export type JobDetail = Schemas["JobDetail"];
const ENDED = ["succeeded", "failed", "stopped"];

export default function JobPage() {
  const { ref = "" } = useParams();
  const words = useWords();
  const asked = useQuery({
    queryKey: ["job", ref.replace("~", "/")],
    queryFn: () => got(api.GET("/danlu/v1/jobs/{ref}", { params: { path: { ref } } })),
  });
  const job = asked.data;
  useEffect(() => {
    document.title = job === undefined ? words.name : `${nameOf(job.ref)} · ${words.states[job.state] ?? job.state} · ${words.name}`;
  }, [job, words]);
  if (asked.error !== null && job === undefined) return <Problem error={asked.error} retry={() => void asked.refetch()} />;
  if (job === undefined) return <div aria-busy="true" className="card" style={{ minHeight: 420 }} />;
  return <Shown job={job} />;
}

function Shown({ job }: { job: JobDetail }) {
  const words = useWords();
  const waiting = job.state === "queued";
  const ended = ENDED.includes(job.state);
  const [shown, setShown] = useState<number[]>([0]);
  const before = useMemo(() => openBefore(job.id), [job.id]);
  const [terminal, setTerminal] = useState<number | null>(job.state === "running" ? before : null);
  const events = useQuery({
    queryKey: ["job", job.ref, "events"],
    queryFn: () => got(api.GET("/danlu/v1/jobs/{ref}/events", { params: { path: { ref: job.id }, query: { limit: 1000 } } })),
  });
  const list = events.data?.events ?? [];
  const started = job.attempts.some((attempt) => attempt.started_at !== null);
  return (
    <>
      <Head job={job} openTerminal={() => setTerminal(shown[0] ?? 0)} />
      {!waiting && <Steps job={job} events={list} />}
      {ended && <End job={job} />}
      {waiting && <WhyPanel job={job} events={list} />}
      {terminal !== null && (
        <Suspense fallback={null}>
          <Terminal key={terminal} id={job.id} task={terminal} close={() => setTerminal(null)} />
        </Suspense>
      )}
      {(!waiting || started) && (
        <div className={shown.length > 1 ? "job-grid several" : "job-grid"} style={waiting ? { marginTop: 16 } : undefined}>
          <div className="stack">
            {job.tasks.length > 1 && <Tasks job={job} shown={shown} show={setShown} />}
            <div className="logs">
              {shown.map((task) => (
                <Log key={`${job.id} ${task} ${job.attempt}`} id={job.id} task={task} live={!ended} name={shown.length > 1 ? taskName(job, task) : ""} />
              ))}
            </div>
          </div>
          <div className="stack">
            {started && (
              <Suspense fallback={<div className="card" style={{ minHeight: 320 }} />}>
                <Charts job={job} />
              </Suspense>
            )}
            {!waiting && <History events={list} />}
            <details className="card">
              <summary className="body" style={{ cursor: "pointer" }}>{words.job.file}</summary>
              <pre className="mono scroll-x" style={{ padding: "0 16px 16px", fontSize: 12.5 }}>{JSON.stringify(job.spec, null, 2)}</pre>
            </details>
          </div>
        </div>
      )}
    </>
  );
}

function Head({ job, openTerminal }: { job: JobDetail; openTerminal: () => void }) {
  const words = useWords();
  const said = useSaid();
  const me = useMe();
  const now = useNow(1000) / 1000;
  const ended = ENDED.includes(job.state);
  const own = job.owner === me.user || me.role === "admin";
  const shape = `${job.task_count > 1 ? `${job.task_count} × ` : ""}${words.gpus(job.task_count > 1 ? job.gpus / job.task_count : job.gpus)}`;
  const places = job.tasks.filter((task) => task.node !== null && task.gpus.length > 0).slice(0, 4);
  const facts = [
    job.gpus > 0 ? `${shape}${job.gpu_model ? ` · ${job.gpu_model}` : ""}` : words.job.cpuOnly,
    ...(places.length > 0 ? places.map((task) => words.job.on(task.node ?? "", ranges(task.gpus))) : job.nodes.slice(0, 4)),
    words.job.submitted(clock(job.submitted_at, words.time)),
    ...(job.state === "queued" ? [words.job.waiting(duration(now - job.submitted_at, words.time))] : []),
    ...(said(job, "doing") !== "" ? [said(job, "doing")] : []),
  ];
  return (
    <div className="page-head">
      <div className="job-title grow">
        <h1>{job.ref}</h1>
        <StateBadge job={job} now={now} />
        <div className="note">{facts.join(" · ")}</div>
      </div>
      <div className="tools">
        {own && job.state === "running" && (
          <button className="button" onClick={openTerminal}>{words.job.terminal}</button>
        )}
        {own && job.state === "running" && job.tasks.some((task) => task.ports.length > 0) && <OpenPort job={job} />}
        {own && job.state === "running" && job.kind !== "environment" && typeof job.spec["image"] === "string" && <SaveButton of={{ job: job.id, name: job.name }} />}
        <Curves job={job} />
        {job.kind === "environment" && (
          <Link className="button" to={`/environments/${encodeURIComponent(`${job.owner}~${job.name}`)}`}>{words.job.environment}</Link>
        )}
        <Link className="button" to={`/submit?clone=${refPath(job.ref)}`}>{words.job.clone}</Link>
        {own && job.state === "stopping" && <StopNow id={job.id} />}
        {ended ? <Again job={job} /> : own && job.state !== "stopping" && <Stop job={job} />}
      </div>
    </div>
  );
}

/** What it serves on the ports that it was given. */
function OpenPort({ job }: { job: JobDetail }) {
  const words = useWords().doors;
  const [open, setOpen] = useState(false);
  return (
    <>
      <button className="button" onClick={() => setOpen(true)}>{words.openPort}</button>
      {open && (
        <Sheet title={`${words.ports}: ${nameOf(job.ref)}`} close={() => setOpen(false)}>
          <Ports id={job.id} tasks={job.tasks} nameOf={(index) => taskName(job, index)} note={words.note} />
        </Sheet>
      )}
    </>
  );
}

function Stop({ job }: { job: JobDetail }) {
  const words = useWords();
  const problem = useProblem();
  const queries = useQueryClient();
  const [asks, setAsks] = useState(false);
  const waiting = job.state === "queued";
  const going = useMutation({
    mutationFn: () => api.POST("/danlu/v1/jobs/{ref}/stop", { params: { path: { ref: job.id } }, body: {} }),
    onSuccess: () => {
      setAsks(false);
      void queries.invalidateQueries({ queryKey: ["job"] });
    },
  });
  const name = waiting ? words.job.withdraw : words.job.stop;
  const ran = job.started_at === null ? 0 : Date.now() / 1000 - job.started_at;
  return (
    <>
      <button className="button" onClick={() => setAsks(true)}>
        <Square />
        {name}
      </button>
      {asks && (
        <Sheet title={`${name}: ${nameOf(job.ref)}`} close={() => setAsks(false)}>
          <p>{waiting ? words.job.withdrawAsk : words.job.stopAsk(duration(ran, words.time))}</p>
          {going.error !== null && <p className="problem" role="alert">{problem(going.error)}</p>}
          <div className="row" style={{ marginTop: 16 }}>
            <button className="button primary" disabled={going.isPending} onClick={() => going.mutate()}>{name}</button>
            <button className="button" onClick={() => setAsks(false)}>{words.job.keep}</button>
          </div>
        </Sheet>
      )}
    </>
  );
}

/** A job that does not end by itself: whatever it left behind is killed. */
function StopNow({ id }: { id: string }) {
  const words = useWords().job;
  const problem = useProblem();
  const queries = useQueryClient();
  const going = useMutation({
    mutationFn: () => api.POST("/danlu/v1/jobs/{ref}/stop", { params: { path: { ref: id } }, body: { now: true } }),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ["job"] }),
  });
  return (
    <>
      <button className="button" disabled={going.isPending} title={words.stopNowNote} onClick={() => going.mutate()}>
        <Cross />
        {words.stopNow}
      </button>
      {going.error !== null && <p className="problem" role="alert">{problem(going.error)}</p>}
    </>
  );
}

function Again({ job }: { job: JobDetail }) {
  const words = useWords();
  const problem = useProblem();
  const navigate = useNavigate();
  const going = useMutation({
    mutationFn: () => got(api.POST("/danlu/v1/jobs/{ref}/rerun", { params: { path: { ref: job.id } } })),
    onSuccess: (answer) => answer.jobs[0] && navigate(`/jobs/${refPath(answer.jobs[0].ref)}`),
  });
  return (
    <>
      <button className="button primary" disabled={going.isPending} onClick={() => going.mutate()}>{words.job.again}</button>
      {going.error !== null && <p className="problem" role="alert">{problem(going.error)}</p>}
    </>
  );
}

/** The same job with more of what it ran out of, to be looked at before it is sent. */
function AgainWith({ job }: { job: JobDetail }) {
  const words = useWords();
  const memory = job.reason === "out_of_memory" ? bytesOf(job.spec["memory"]) : null;
  const limit = job.reason === "time_limit" ? secondsOf(job.spec["time_limit"]) : null;
  if (memory === null && limit === null) return null;
  const mebibytes = Math.ceil((2 * (memory ?? 0)) / 1_048_576);
  const gibibytes = mebibytes % 1024 === 0;
  const change = memory !== null ? { memory: gibibytes ? `${mebibytes / 1024}G` : `${mebibytes}M` } : { time_limit: `${Math.ceil(2 * (limit ?? 0))}s` };
  const name = memory !== null ? words.job.againMemory(size(2 * memory)) : words.job.againTime(duration(2 * (limit ?? 0), words.time));
  return (
    <p>
      <Link className="button" to={`/submit?clone=${refPath(job.ref)}&change=${encodeURIComponent(JSON.stringify(change))}`}>{name}</Link>
    </p>
  );
}

/** What ended it, the lines that show it, and one piece of advice. */
function End({ job }: { job: JobDetail }) {
  const words = useWords();
  const said = useSaid();
  const took = job.started_at !== null && job.ended_at !== null ? job.ended_at - job.started_at : null;
  const advice = said(job, "advice");
  const me = useMe();
  const own = job.owner === me.user || me.role === "admin";
  return (
    <section className={`card end-card ${job.state}`} aria-label={words.job.ended}>
      {job.state === "succeeded" ? <Tick size={24} /> : job.state === "failed" ? <Cross size={24} /> : <Square size={24} />}
      <div className="grow">
        <p className="sentence">{said(job, "reason") || words.states[job.state]}</p>
        <p className="note">
          {[
            job.ended_at !== null && clock(job.ended_at, words.time),
            took !== null && words.job.ran(duration(took, words.time)),
            job.exit_code !== null && words.job.code(job.exit_code),
          ].filter(Boolean).join(" · ")}
        </p>
        {job.evidence.length > 0 && <pre>{job.evidence.slice(-3).join("\n")}</pre>}
        {advice !== "" && <p>{advice}</p>}
        {own && <AgainWith job={job} />}
      </div>
    </section>
  );
}
