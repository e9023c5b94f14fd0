import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Link } from "react-router";
import { changed, type Operation } from "../files/asks";
import { cancel, dismiss, onOperationEnd, useOperations } from "../files/operations";
import { addressOf, nameOf } from "../files/paths";
import { useSaid, useWords } from "../i18n";
import { useFileWords } from "../i18n/files";
import { Cross, Pause, Play, Tick, Warn } from "../ui/icons";
import { useNow } from "../ui/now";
import { duration } from "../ui/time";
import { size } from "../ui/values";
import { useBatches } from "./batches";
import { queue, type Batch } from "./queue";
import "./tray.css";

/** What is on its way, on every page. */
export default function Tray() {
  const words = useFileWords();
  const queries = useQueryClient();
  const batches = useBatches();
  const operations = useOperations();
  const [open, setOpen] = useState(true);
  useEffect(() => {
    const again = () => changed(queries);
    const ends = [queue.onEnd(again), onOperationEnd(again)];
    return () => ends.forEach((end) => end());
  }, [queries]);
  if (batches.length + operations.length === 0) return null;
  const busy = batches.some((batch) => batch.state !== "done" && batch.state !== "failed");
  return (
    <aside className="tray" aria-label={words.tray.title}>
      <button type="button" className="tray-head" aria-expanded={open} onClick={() => setOpen(!open)}>
        <b>{words.tray.title}</b>
        <span className="note">{words.tray.open(batches.length + operations.length)}</span>
      </button>
      {open && (
        <ul>
          {batches.map((batch) => <Upload key={batch.id} batch={batch} />)}
          {operations.map((operation) => <Running key={operation.id} operation={operation} />)}
        </ul>
      )}
      {open && busy && <p className="note tray-note">{words.tray.keepOpen}</p>}
    </aside>
  );
}

function Bar({ done, all, label }: { done: number; all: number | null; label: string }) {
  const share = all === null || all === 0 ? 0 : Math.min(1, done / all);
  return (
    <div className="meter ember" role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={all === null ? undefined : Math.floor(share * 100)}>
      <i style={{ width: `${share * 100}%` }} />
    </div>
  );
}

function Upload({ batch }: { batch: Batch }) {
  const words = useFileWords().tray;
  const all = useFileWords();
  const { time } = useWords();
  const now = useNow(1000);
  const [asks, setAsks] = useState(false);
  const { id, state, title } = batch;
  const ended = state === "done" || state === "failed";
  const left = batch.speed > 0 ? (batch.bytes - batch.sentBytes) / batch.speed : null;
  const told =
    state === "waiting"
      ? words.waiting(Math.max(0, Math.ceil(((batch.nextTry ?? now) - Date.now()) / 1000)))
      : state === "paused"
        ? words.paused
        : state === "done"
          ? words.done
          : state === "failed"
            ? words.failed(batch.failures.length)
            : words.sending;
  const facts = [
    words.progress(size(batch.sentBytes), size(batch.bytes)),
    ...(batch.files > 1 ? [words.filesOf(all.number(batch.doneFiles), all.number(batch.files))] : []),
    ...(state === "sending" && batch.speed > 0 ? [words.speed(size(batch.speed))] : []),
    ...(state === "sending" && left !== null && left > 1 ? [words.left(duration(left, time))] : []),
  ];
  return (
    <li data-state={state}>
      <div className="row">
        {state === "done" ? <Tick className="go" /> : state === "failed" || state === "waiting" ? <Warn className={state === "failed" ? "bad" : "warn"} /> : null}
        <Link className="grow cut" to={addressOf(batch.folder)} title={title}><b>{title}</b></Link>
        {state === "sending" || state === "waiting" ? (
          <button className="button small plain" aria-label={`${words.pause}: ${title}`} onClick={() => queue.pause(id)}><Pause /></button>
        ) : state === "paused" ? (
          <button className="button small" onClick={() => queue.resume(id)}>
            <Play />
            {words.resume}
          </button>
        ) : null}
        <button
          className="button small plain"
          aria-label={`${ended ? words.dismiss : words.cancel}: ${title}`}
          onClick={() => (ended ? queue.clear(id) : setAsks(true))}
        >
          <Cross />
        </button>
      </div>
      {!ended && <Bar done={batch.sentBytes} all={batch.bytes} label={`${words.sending}: ${title}`} />}
      <p className="note"><span role="status">{told}</span> · {facts.join(" · ")}</p>
      {asks && (
        <div className="row wrap">
          <span className="note">{words.cancelNote}</span>
          <button className="button small" onClick={() => void queue.cancel(id)}>{words.cancelAsk(title)}</button>
          <button className="button small" onClick={() => setAsks(false)}>{all.close}</button>
        </div>
      )}
      <Failures batch={batch} />
    </li>
  );
}

function Failures({ batch }: { batch: Batch }) {
  const words = useFileWords().tray;
  const said = useSaid();
  if (batch.failures.length === 0) return null;
  return (
    <ul className="failures">
      {batch.failures.slice(0, 5).map(({ path, refusal }, at) => (
        <li key={`${path} ${at}`} className="problem breakable">{path}: {refusal === null ? words.unreadable : said({ x_en: refusal.en, x_zh: refusal.zh }, "x")}</li>
      ))}
      {batch.failures.length > 5 && <li className="note">{words.more(batch.failures.length - 5)}</li>}
    </ul>
  );
}

function Running({ operation }: { operation: Operation }) {
  const words = useFileWords();
  const said = useSaid();
  const running = operation.state === "running";
  const [first] = operation.paths;
  const name = first === undefined ? "" : nameOf(first);
  const title = running ? words.tray.ops[operation.kind] : words.tray.opFailed[operation.kind];
  return (
    <li data-state={operation.state}>
      <div className="row">
        {!running && <Warn className="bad" />}
        <span className="grow cut"><b>{title}</b> {name}</span>
        <button
          className="button small plain"
          aria-label={`${running ? words.tray.cancel : words.tray.dismiss}: ${title} ${name}`}
          onClick={() => (running ? void cancel(operation.id).catch(() => undefined) : dismiss(operation.id))}
        >
          <Cross />
        </button>
      </div>
      {running && <Bar done={operation.bytes_done} all={operation.bytes_total} label={`${title} ${name}`} />}
      <p className="note">
        {operation.files_total === null ? words.files(operation.files_done) : words.tray.filesOf(words.number(operation.files_done), words.number(operation.files_total))} · {size(operation.bytes_done)}
      </p>
      {said(operation, "message") !== "" && <p className="problem">{said(operation, "message")}</p>}
      {operation.problems.slice(0, 5).map((problem) => (
        <p key={problem.path} className="problem breakable">{problem.path}: {said(problem, "message")}</p>
      ))}
      {operation.problem_count > 5 && <p className="note">{words.tray.more(operation.problem_count - 5)}</p>}
    </li>
  );
}
