import { useWords } from "../i18n";
import { Cross, Play, Ring, Tick } from "../ui/icons";
import { useNow } from "../ui/now";
import { duration } from "../ui/time";
import type { JobDetail } from "./page";

/** Where a job is on its way, and how long each part took. */
export function Steps({ job }: { job: JobDetail }) {
  const words = useWords();
  const now = useNow(1000) / 1000;
  const latest = job.attempts.at(-1);
  const created = latest?.created_at ?? job.submitted_at;
  const started = latest?.started_at ?? null;
  const ended = job.ended_at;
  const steps = [
    { name: words.job.steps.queue, took: created - job.submitted_at, state: "done" },
    {
      name: words.job.steps.create,
      took: (started ?? ended ?? now) - created,
      state: started !== null ? "done" : ended === null ? "now" : "wrong",
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
