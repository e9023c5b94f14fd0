import type { Schemas } from "../api/client";
import { useWords } from "../i18n";
import { Cross, Play, Ring, Tick } from "../ui/icons";
import { useNow } from "../ui/now";
import { duration } from "../ui/time";
import type { JobDetail } from "./page";

/** When this attempt's images were pulled; null where they were there already. */
function pullOf(job: JobDetail, events: Schemas["Event"][]): { from: number; to: number | null } | null {
  const since = job.attempts.at(-2)?.ended_at ?? job.submitted_at;
  const ours = events.filter((event) => event.at >= since && (event.kind === "pulling" || event.kind === "pulled"));
  if (ours.length === 0) return null;
  const last = ours.at(-1);
  return { from: Math.min(...ours.map((event) => event.at)), to: last?.kind === "pulled" ? last.at : null };
}

/** Where a job is on its way, and how long each part took. */
export function Steps({ job, events }: { job: JobDetail; events: Schemas["Event"][] }) {
  const words = useWords();
  const now = useNow(1000) / 1000;
  const latest = job.attempts.at(-1);
  const created = latest?.created_at ?? job.submitted_at;
  const started = latest?.started_at ?? null;
  const ended = job.ended_at;
  const pull = pullOf(job, events);
  const pulled = pull === null ? created : (pull.to ?? started ?? ended ?? now);
  const made = Math.max(created, pulled);
  const pulling = pull !== null && pull.to === null && started === null;
  const steps = [
    { name: words.job.steps.queue, took: Math.min(created, pull?.from ?? created) - job.submitted_at, state: "done" },
    ...(pull === null ? [] : [{ name: words.job.steps.pull, took: pulled - pull.from, state: !pulling ? "done" : ended === null ? "now" : "wrong" }]),
    {
      name: words.job.steps.create,
      took: pulling ? null : Math.max(0, (started ?? ended ?? now) - made),
      state: started !== null ? "done" : pulling ? "later" : ended === null ? "now" : "wrong",
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
