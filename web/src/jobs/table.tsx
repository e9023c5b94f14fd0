import { useState } from "react";
import { Link } from "react-router";
import { useMe } from "../api/session";
import { useSaid, useWords } from "../i18n";
import { useNow } from "../ui/now";
import { Initials } from "../ui/people";
import { StateBadge } from "../ui/state";
import { clock, duration } from "../ui/time";
import { amount, nameOf, refPath, short } from "../ui/values";
import type { Job } from "./list";

interface Chosen {
  chosen: ReadonlySet<string>;
  choose: (jobs: Job[], on: boolean) => void;
}

/** Elements of one array are one row with counts until somebody opens it. */
function folded(jobs: Job[]): { job: Job; elements: Job[] }[] {
  const rows: { job: Job; elements: Job[] }[] = [];
  const arrays = new Map<string, Job[]>();
  for (const job of jobs) {
    const key = job.array_seq == null ? null : `${job.owner} ${job.array_seq}`;
    const known = key === null ? undefined : arrays.get(key);
    if (known !== undefined) known.push(job);
    else {
      const elements = [job];
      if (key !== null) arrays.set(key, elements);
      rows.push({ job, elements });
    }
  }
  return rows;
}

export function JobTable({ jobs, chosen, choose }: { jobs: Job[] } & Chosen) {
  const { jobs: words } = useWords();
  const me = useMe();
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const rows = folded(jobs);
  const mayStop = (job: Job) => job.ended_at === null && (job.owner === me.user || me.role === "admin");
  const all = jobs.filter(mayStop);
  return (
    <table className="table jobs">
      <thead>
        <tr>
          <th className="pick">
            <input
              type="checkbox"
              aria-label={words.chooseAll}
              disabled={all.length === 0}
              checked={all.length > 0 && all.every((job) => chosen.has(job.id))}
              onChange={(event) => choose(all, event.target.checked)}
            />
          </th>
          <th>{words.columns.state}</th>
          <th>{words.columns.name}</th>
          <th>{words.columns.who}</th>
          <th className="num">{words.columns.shape}</th>
          <th>{words.columns.where}</th>
          <th>{words.columns.submitted}</th>
          <th className="num">{words.columns.time}</th>
        </tr>
      </thead>
      <tbody>
        {rows.flatMap(({ job, elements }) => {
          const pick = (of: Job[]) => ({ chosen, choose, pickable: of.filter(mayStop) });
          if (elements.length === 1 || open.has(job.id)) return elements.map((one) => <JobRow key={one.id} job={one} me={me.user} {...pick([one])} />);
          return [<JobRow key={job.id} job={job} me={me.user} {...pick(elements)} folded={elements} unfold={() => setOpen(new Set([...open, job.id]))} />];
        })}
      </tbody>
    </table>
  );
}

interface RowProps extends Chosen {
  job: Job;
  me: string;
  pickable: Job[];
  folded?: Job[];
  unfold?: () => void;
}

function JobRow({ job, me, pickable, chosen, choose, folded, unfold }: RowProps) {
  const words = useWords();
  const said = useSaid();
  const now = useNow(10_000) / 1000;
  const counts = new Map<string, number>();
  folded?.forEach((one) => counts.set(one.state, (counts.get(one.state) ?? 0) + 1));
  const picked = pickable.length > 0 && pickable.every((one) => chosen.has(one.id));
  return (
    <tr aria-selected={picked}>
      <td className="pick">
        {pickable.length > 0 && (
          <input type="checkbox" aria-label={words.jobs.choose(job.ref)} checked={picked} onChange={(event) => choose(pickable, event.target.checked)} />
        )}
      </td>
      <td>
        <StateBadge job={job} />
      </td>
      <td className="name">
        <Link to={`/jobs/${refPath(job.ref)}`} title={job.ref}>{short(nameOf(job.ref), 40)}</Link>
        {folded !== undefined ? (
          <button className="linklike note" aria-expanded={false} onClick={unfold}>
            {words.jobs.elements(folded.length)}: {[...counts].map(([state, n]) => `${n} ${words.states[state] ?? state}`).join(", ")}
          </button>
        ) : (
          <span className="note cut">{job.state === "failed" ? said(job, "reason") : job.command}</span>
        )}
      </td>
      <td>
        <Initials name={job.owner} me={job.owner === me} /> <span className="note">{job.owner}</span>
      </td>
      <td className="num">{job.gpus > 0 ? `${job.task_count > 1 ? `${job.task_count} × ` : ""}${amount(job.gpus / job.task_count)}` : "—"}</td>
      <td>{job.nodes.slice(0, 3).join(", ") || "—"}</td>
      <td>{clock(job.submitted_at, words.time)}</td>
      <td className="num">{job.started_at === null ? "—" : duration((job.ended_at ?? now) - job.started_at, words.time)}</td>
    </tr>
  );
}
