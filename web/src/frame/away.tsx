import { stream, useLive, useStatus } from "../api/stream";
import { useWords } from "../i18n";
import { Warn } from "../ui/icons";
import { useNow } from "../ui/now";
import { seconds } from "../ui/time";

/** The server does not answer: since when, what still holds, when it is tried again. */
export function Away() {
  return useStatus() === "away" ? <Bar /> : null;
}

function Bar() {
  const live = useLive();
  const words = useWords();
  const now = useNow(1000);
  const left = Math.max(0, Math.ceil((live.retryAt - now) / 1000));
  return (
    <div className="notice bad away-bar" role="alert">
      <Warn size={20} />
      <div className="grow">
        <b>{words.away.title(seconds((live.heard || now) / 1000))}</b>
        <span>{words.away.body(left)}</span>
      </div>
      <button className="button small" onClick={stream.retryNow}>{words.away.now}</button>
    </div>
  );
}
