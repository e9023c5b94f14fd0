import { Fragment, useState } from "react";
import { Link } from "react-router";
import { useMe } from "../api/session";
import { useSaid, useWords } from "../i18n";
import { useNow } from "../ui/now";
import { Initials } from "../ui/people";
import { StateBadge } from "../ui/state";
import { clock, duration } from "../ui/time";
import { amount, nameOf, refPath, short } from "../ui/values";
import { ALIVE, isArray, keyOf, once, sizeOf, useElements, type Job } from "./list";

interface Chosen {
  chosen: ReadonlyMap<string, Job>;
  choose: (jobs: Job[], on: boolean) => void;
}

/** An array is one row with the counts of all its elements until somebody opens it. */
export function JobTable({ jobs, chosen, choose }: { jobs: Job[] } & Chosen) {
  const { jobs: words } = useWords();
  const mayStop = useMayStop();
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const all = jobs.filter(mayStop);
  const toggle = (key: string) => {
    const next = new Set(open);
    if (!next.delete(key)) next.add(key);
    setOpen(next);
  };
  // With roles: on a phone the rows are laid out as cards, and a table of another layout is none to a reader.
  return (
    <table className="table jobs" role="table">
      <thead role="rowgroup">
        <tr role="row">
          <th className="pick" role="columnheader">
            <input
              type="checkbox"
              aria-label={words.chooseAll}
              disabled={all.length === 0}
              checked={all.length > 0 && all.every((job) => chosen.has(keyOf(job)))}
              onChange={(event) => choose(all, event.target.checked)}
            />
          </th>
          <th role="columnheader">{words.columns.state}</th>
          <th role="columnheader">{words.columns.name}</th>
          <th role="columnheader">{words.columns.who}</th>
          <th role="columnheader" className="num">{words.columns.shape}</th>
          <th role="columnheader">{words.columns.where}</th>
          <th role="columnheader">{words.columns.submitted}</th>
          <th role="columnheader" className="num">{words.columns.time}</th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        {jobs.map((job) => {
          const key = keyOf(job);
          if (!isArray(job)) return <JobRow key={key} {...{ job, chosen, choose }} />;
          return (
            <Fragment key={key}>
              <JobRow {...{ job, chosen, choose }} open={open.has(key)} toggle={() => toggle(key)} />
              {open.has(key) && <Elements {...{ job, chosen, choose }} />}
            </Fragment>
          );
        })}
      </tbody>
    </table>
  );
}

function useMayStop() {
  const me = useMe();
  return (job: Job) => sizeOf(job, ...ALIVE) > 0 && (job.owner === me.user || me.role === "admin");
}

function Elements({ job, chosen, choose }: { job: Job } & Chosen) {
  const words = useWords().jobs;
  const asked = useElements(job);
  return (
    <>
      {once(asked.data?.pages).map((one) => <JobRow key={one.id} job={one} {...{ chosen, choose }} inner />)}
      {asked.hasNextPage && (
        <tr role="row">
          <td role="cell" colSpan={8} className="more-elements">
            <button className="linklike note" disabled={asked.isFetchingNextPage} onClick={() => void asked.fetchNextPage()}>{words.moreElements}</button>
          </td>
        </tr>
      )}
    </>
  );
}

interface RowProps extends Chosen {
  job: Job;
  inner?: boolean;
  open?: boolean;
  toggle?: () => void;
}

function JobRow({ job, inner, chosen, choose, open, toggle }: RowProps) {
  const words = useWords();
  const me = useMe();
  const said = useSaid();
  const mayStop = useMayStop();
  const now = useNow(10_000) / 1000;
  const picked = chosen.has(keyOf(job));
  const array = toggle !== undefined;
  const ref = array ? keyOf(job) : job.ref;
  const { columns } = words.jobs;
  return (
    <tr role="row" aria-selected={picked} className={inner ? "inner" : ""}>
      <td role="cell" className="pick">
        {mayStop(job) && <input type="checkbox" aria-label={words.jobs.choose(ref)} checked={picked} onChange={(event) => choose([job], event.target.checked)} />}
      </td>
      <td role="cell" className="state">
        <StateBadge job={job} />
      </td>
      <td role="cell" className="name">
        <Link to={`/jobs/${refPath(job.ref)}`} title={ref}>{short(nameOf(ref), 40)}</Link>
        {array ? (
          <button className="linklike note" aria-expanded={open} onClick={toggle}>
            {words.jobs.elements(sizeOf(job))}
            {words.colon}
            {Object.entries(job.elements ?? {}).map(([state, n]) => words.jobs.inState(n, words.states[state] ?? state)).join(words.why.comma)}
          </button>
        ) : (
          <span className="note cut">{job.state === "failed" ? said(job, "reason") : job.command}</span>
        )}
      </td>
      <td role="cell" className="who">
        <Initials name={job.owner} me={job.owner === me.user} /> <span className="note">{job.owner}</span>
      </td>
      <td role="cell" className="num" data-label={columns.shape}>{job.gpus > 0 ? `${job.task_count > 1 ? `${job.task_count} × ` : ""}${amount(job.gpus / job.task_count)}` : "—"}</td>
      <td role="cell" data-label={columns.where}>{job.nodes.slice(0, 3).join(", ") || "—"}</td>
      <td role="cell" data-label={columns.submitted}>{clock(job.submitted_at, words.time)}</td>
      <td role="cell" className="num" data-label={columns.time}>{array || job.started_at === null ? "—" : duration((job.ended_at ?? now) - job.started_at, words.time)}</td>
    </tr>
  );
}
