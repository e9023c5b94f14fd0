import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client";
import { useWords } from "../i18n";
import { Square } from "../ui/icons";
import { useProblem } from "../ui/problem";
import { Sheet } from "../ui/sheet";
import type { Job } from "./list";

const AT_ONCE = 4;

/** Does the same to many jobs, a few at a time. Fails with the first refusal, after trying all. */
async function each(jobs: Job[], act: (job: Job) => Promise<unknown>): Promise<void> {
  const left = [...jobs];
  const wrong: unknown[] = [];
  const work = async () => {
    for (let job = left.shift(); job !== undefined; job = left.shift()) await act(job).catch((error: unknown) => wrong.push(error));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (wrong.length > 0) throw wrong[0];
}

/** Appears at the bottom while jobs are chosen. */
export function Bulk({ jobs, clear }: { jobs: Job[]; clear: () => void }) {
  const words = useWords().jobs;
  const problem = useProblem();
  const queries = useQueryClient();
  const [asks, setAsks] = useState(false);
  const stop = useMutation({
    mutationFn: () => each(jobs, (job) => api.POST("/danlu/v1/jobs/{ref}/stop", { params: { path: { ref: job.id } }, body: {} })),
    onSettled: () => void queries.invalidateQueries({ queryKey: ["jobs"] }),
    onSuccess: () => {
      setAsks(false);
      clear();
    },
  });
  const running = jobs.filter((job) => job.started_at !== null).length;
  return (
    <div className="bulk" role="region" aria-label={words.bulk}>
      <b role="status">{words.chosen(jobs.length)}</b>
      <span className="grow" />
      <button className="button" onClick={() => setAsks(true)}>
        <Square />
        {words.stop}
      </button>
      <button className="button plain" onClick={clear}>{words.clear}</button>
      {asks && (
        <Sheet title={words.stopMany(jobs.length)} close={() => setAsks(false)}>
          <div className="stack">
            <p>{words.stopAsk(running, jobs.length - running)}</p>
            <ul className="note">
              {jobs.slice(0, 8).map((job) => <li key={job.id} className="cut">{job.ref}</li>)}
              {jobs.length > 8 && <li>{words.andMore(jobs.length - 8)}</li>}
            </ul>
            {stop.error !== null && <p className="problem" role="alert">{problem(stop.error)}</p>}
            <div className="row">
              <button className="button primary" disabled={stop.isPending} onClick={() => stop.mutate()}>{words.stop}</button>
              <button className="button" onClick={() => setAsks(false)}>{words.keep}</button>
            </div>
          </div>
        </Sheet>
      )}
    </div>
  );
}
