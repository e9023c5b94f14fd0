import type { Schemas } from "../api/client";
import { useWords } from "../i18n";
import { Cross, Play, Ring, Tick } from "../ui/icons";
import { useNow } from "../ui/now";
import { duration } from "../ui/time";
import type { JobDetail } from "./page";

interface Span {
  from: number;
  to: number | null;
}

/** When something was got ready for this attempt, as its images; null where it was there already. */
function spanOf(job: JobDetail, events: Schemas["Event"][], during: string, after: string): Span | null {
  const since = job.attempts.at(-2)?.ended_at ?? job.submitted_at;
  const ours = events.filter((event) => event.at >= since && (event.kind === during || event.kind === after));
  if (ours.length === 0) return null;
  const last = ours.at(-1);
  return { from: Math.min(...ours.map((event) => event.at)), to: last?.kind === after ? last.at : null };
}

/** Where a job is on its way, and how long each part took. */
export function Steps({ job, events }: { job: JobDetail; events: Schemas["Event"][] }) {
  const words = useWords();
  const now = useNow(1000) / 1000;
  const latest = job.attempts.at(-1);
  const created = latest?.created_at ?? job.submitted_at;
  const started = latest?.started_at ?? null;
  const ended = job.ended_at;
  const readied = [
    { name: words.job.steps.pull, span: spanOf(job, events, "pulling", "pulled") },
    { name: words.job.steps.tools, span: spanOf(job, events, "making_tools", "made_tools") },
  ].flatMap(({ name, span }) => (span === null ? [] : [{ name, from: span.from, to: span.to ?? started ?? ended ?? now, going: span.to === null && started === null }]));
  const made = Math.max(created, ...readied.map((one) => one.to));
  const going = readied.some((one) => one.going);
  const steps = [
    { name: words.job.steps.queue, took: Math.min(created, ...readied.map((one) => one.from)) - job.submitted_at, state: "done" },
    ...readied.map((one) => ({ name: one.name, took: one.to - one.from, state: !one.going ? "done" : ended === null ? "now" : "wrong" })),
    {
      name: words.job.steps.create,
      took: going ? null : Math.max(0, (started ?? ended ?? now) - made),
      state: started !== null ? "done" : going ? "later" : ended === null ? "now" : "wrong",
    },
    {
      name: words.job.steps.run,
      took: started === null ? null : (ended ?? now) - started,
      state: started === null ? "later" : ended === null ? "now" : job.state === "failed" ? "wrong" : "done",
    },
  ];
  return (
    <ol className="steps">
      {steps.map((step) => (
        <li key={step.name} className={`step ${step.state}`}>
          {step.state === "done" ? <Tick size={14} /> : step.state === "now" ? <Play size={14} /> : step.state === "wrong" ? <Cross size={14} /> : <Ring size={14} />}
          {step.name}
          {step.took !== null && <b>{duration(step.took, words.time)}</b>}
        </li>
      ))}
      {job.attempts.length > 1 && <li className="note">{words.job.attempt(job.attempts.length)}</li>}
    </ol>
  );
}
