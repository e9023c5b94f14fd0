import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { api } from "../api/client";
import { useWords } from "../i18n";
import { Square, Up } from "../ui/icons";
import { useProblem } from "../ui/problem";
import { Sheet } from "../ui/sheet";
import { ALIVE, isArray, keyOf, sizeOf, WAITING, type Job } from "./list";

const AT_ONCE = 4;
const HIGHEST = 1000;

/** Does the same to many jobs, a few at a time. Fails with the first refusal, after trying all. */
async function each(jobs: Job[], act: (ref: string) => Promise<unknown>): Promise<void> {
  const left = [...jobs];
  const wrong: unknown[] = [];
  const work = async () => {
    for (let job = left.shift(); job !== undefined; job = left.shift()) await act(keyOf(job).replace("/", "~")).catch((error: unknown) => wrong.push(error));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (wrong.length > 0) throw wrong[0];
}

const sum = (jobs: Job[], states: string[]) => jobs.reduce((count, job) => count + sizeOf(job, ...states), 0);

/** Appears at the bottom while jobs are chosen. */
export function Bulk({ jobs, clear }: { jobs: Job[]; clear: () => void }) {
  const words = useWords().jobs;
  const [asks, setAsks] = useState<"stop" | "priority" | null>(null);
  const waiting = jobs.filter((job) => sizeOf(job, ...WAITING) > 0);
  const close = () => setAsks(null);
  const done = () => {
    close();
    clear();
  };
  return (
    <div className="bulk" role="region" aria-label={words.bulk}>
      <b role="status">{words.chosen(sum(jobs, ALIVE))}</b>
      <span className="grow" />
      <button className="button" disabled={waiting.length === 0} onClick={() => setAsks("priority")}>
        <Up />
        {words.priority}
      </button>
      <button className="button" onClick={() => setAsks("stop")}>
        <Square />
        {words.stop}
      </button>
      <button className="button plain" onClick={clear}>{words.clear}</button>
      {asks === "stop" && <Stop {...{ jobs, close, done }} />}
      {asks === "priority" && <Priority jobs={waiting} others={sum(jobs, ALIVE) - sum(waiting, WAITING)} {...{ close, done }} />}
    </div>
  );
}

interface Asking {
  jobs: Job[];
  close: () => void;
  done: () => void;
}

function useEach(jobs: Job[], act: (ref: string) => Promise<unknown>, done: () => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => each(jobs, act),
    onSettled: () => Promise.all([queries.invalidateQueries({ queryKey: ["jobs"] }), queries.invalidateQueries({ queryKey: ["waiting"] })]),
    onSuccess: done,
  });
}

function Stop({ jobs, close, done }: Asking) {
  const words = useWords().jobs;
  const act = useEach(jobs, (ref) => api.POST("/danlu/v1/jobs/{ref}/stop", { params: { path: { ref } }, body: {} }), done);
  const count = sum(jobs, ALIVE);
  const waiting = sum(jobs, WAITING);
  return (
    <Sheet title={words.stopMany(count)} close={close}>
      <Question act={act} says={words.stop} keep={words.keep} close={close} jobs={jobs}>
        <p>{words.stopAsk(count - waiting, waiting)}</p>
      </Question>
    </Sheet>
  );
}

function Priority({ jobs, others, close, done }: Asking & { others: number }) {
  const words = useWords().jobs;
  const [typed, setTyped] = useState(String(Math.max(...jobs.map((job) => job.priority))));
  const priority = /^[+-]?\d+$/.test(typed.trim()) ? Number(typed) : NaN;
  const able = Math.abs(priority) <= HIGHEST;
  const act = useEach(jobs, (ref) => api.PATCH("/danlu/v1/jobs/{ref}", { params: { path: { ref } }, body: { priority } }), done);
  return (
    <Sheet title={words.priorityOf(sum(jobs, WAITING))} close={close}>
      <Question act={act} says={words.priorityGo} keep={words.priorityKeep} close={close} jobs={jobs} able={able}>
        <label className="field">
          <span>{words.priority}</span>
          <input className="input" inputMode="numeric" name="priority" value={typed} aria-invalid={!able} onChange={(event) => setTyped(event.target.value)} />
          <small className="note">{words.priorityHint(HIGHEST)}</small>
        </label>
        {others > 0 && <p className="note">{words.priorityOthers(others)}</p>}
      </Question>
    </Sheet>
  );
}

interface QuestionProps {
  act: ReturnType<typeof useEach>;
  says: string;
  keep: string;
  close: () => void;
  jobs: Job[];
  able?: boolean;
  children: ReactNode;
}

function Question({ act, says, keep, close, jobs, able = true, children }: QuestionProps) {
  const words = useWords().jobs;
  const problem = useProblem();
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (able) act.mutate();
      }}
    >
      {children}
      <ul className="note">
        {jobs.slice(0, 8).map((job) => <li key={keyOf(job)} className="cut">{isArray(job) ? keyOf(job) : job.ref}</li>)}
        {jobs.length > 8 && <li>{words.andMore(jobs.length - 8)}</li>}
      </ul>
      {act.error !== null && <p className="problem" role="alert">{problem(act.error)}</p>}
      <div className="row">
        <button className="button primary" disabled={act.isPending || !able}>{says}</button>
        <button className="button" type="button" onClick={close}>{keep}</button>
      </div>
    </form>
  );
}
