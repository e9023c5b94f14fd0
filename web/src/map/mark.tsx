import { Clock, Cross, Question, Warn } from "../ui/icons";
import type { Kind } from "./model";

/** How a state is drawn where there is little room; the legend uses the very same. */
export function Mark({ kind }: { kind: Kind }) {
  return (
    <i className={`mark ${kind}`} aria-hidden="true">
      {kind === "down" && <Cross size={11} />}
      {kind === "silent" && <Question size={11} />}
      {kind === "outside" && <Warn size={11} />}
      {kind === "reserved" && <Clock size={11} />}
    </i>
  );
}
