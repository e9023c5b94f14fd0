import { useWords } from "../i18n";
import { amount, ranges } from "../ui/values";
import type { JobDetail } from "./page";

const MOST = 4; // logs side by side

export function taskName(job: JobDetail, index: number): string {
  const task = job.tasks.find((one) => one.index === index);
  return task === undefined ? String(index) : `${task.role} ${task.role_index}`;
}

/** The tasks by role; those that are ticked show their logs side by side. */
export function Tasks({ job, shown, show }: { job: JobDetail; shown: number[]; show: (tasks: number[]) => void }) {
  const words = useWords().job;
  const toggle = (index: number, on: boolean) => {
    const next = on ? [...shown, index].sort((a, b) => a - b) : shown.filter((one) => one !== index);
    if (next.length > 0) show(next);
  };
  return (
    <section className="card scroll-x tasks" aria-label={words.task}>
      <table className="table">
        <thead>
          <tr>
            <th className="pick"><span className="hidden-text">{words.sideBySide}</span></th>
            <th>{words.task}</th>
            <th>{words.node}</th>
            <th>GPU</th>
            <th>{words.phase}</th>
            <th className="num">{words.exit}</th>
          </tr>
        </thead>
        <tbody>
          {job.tasks.map((one) => (
            <tr key={one.index} aria-selected={shown.includes(one.index)}>
              <td className="pick">
                <input
                  type="checkbox"
                  aria-label={words.showLog(taskName(job, one.index))}
                  checked={shown.includes(one.index)}
                  disabled={!shown.includes(one.index) && shown.length >= MOST}
                  onChange={(event) => toggle(one.index, event.target.checked)}
                />
              </td>
              <td>
                <button className="linklike" aria-pressed={shown.length === 1 && shown[0] === one.index} onClick={() => show([one.index])}>
                  {taskName(job, one.index)}
                </button>
              </td>
              <td>{one.node ?? "—"}</td>
              <td>{one.gpus.length > 0 ? ranges(one.gpus) : "—"}</td>
              <td>{words.phases[one.phase] ?? one.phase}</td>
              <td className="num">{one.exit_code ?? (one.signal !== null ? `SIG ${amount(one.signal)}` : "—")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
