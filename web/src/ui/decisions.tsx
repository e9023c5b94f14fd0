import { useWords } from "../i18n";
import "./decisions.css";
import { Cross, Tick } from "./icons";
import { clock } from "./time";

const NEWS = 14 * 86_400;

export interface Decision {
  key: string;
  accepted: boolean;
  words: string;
  why: string;
  at: number | null;
}

/** What was accepted is told for two weeks; what was not, until it is proposed again or withdrawn. */
export const isNews = (accepted: boolean, at: number | null) => !accepted || (at !== null && Date.now() / 1000 - at < NEWS);

/** What admins decided about one's proposals. */
export function Decisions({ list }: { list: Decision[] }) {
  const { time } = useWords();
  if (list.length === 0) return null;
  return (
    <ul className="card decisions" role="status">
      {list.map((one) => (
        <li key={one.key} className="breakable">
          {one.accepted ? <Tick className="go" /> : <Cross className="bad" />} {one.words}
          {one.why !== "" && <>: {one.why}</>}
          {one.at !== null && <span className="note"> · {clock(one.at, time)}</span>}
        </li>
      ))}
    </ul>
  );
}
