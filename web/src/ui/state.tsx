import { useWords } from "../i18n";
import { Clock, Cross, Down, Pause, Play, Square, Tick } from "./icons";
import { duration } from "./time";

interface Stated {
  state: string;
  held: boolean;
  started_at: number | null;
}

const LOOKS: Record<string, [typeof Clock, string]> = {
  queued: [Clock, "wait"],
  starting: [Down, "wait"],
  running: [Play, "go"],
  stopping: [Square, ""],
  succeeded: [Tick, "go"],
  failed: [Cross, "bad"],
  stopped: [Square, ""],
};

/** A job's state: shape and word first, colour second. */
export function StateBadge({ job, now }: { job: Stated; now?: number }) {
  const words = useWords();
  const [Icon, tone] = job.held && job.state === "queued" ? ([Pause, ""] as const) : (LOOKS[job.state] ?? ([Clock, ""] as const));
  const name = job.held && job.state === "queued" ? words.held : (words.states[job.state] ?? job.state);
  return (
    <span className={`badge ${tone}`}>
      <Icon size={13} />
      {name}
      {job.state === "running" && job.started_at !== null && now !== undefined && ` ${duration(now - job.started_at, words.time)}`}
    </span>
  );
}
