import { useQuery } from "@tanstack/react-query";
import { memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore, type KeyboardEvent } from "react";
import { api, got } from "../api/client";
import { useWords } from "../i18n";
import { Down, Search } from "../ui/icons";
import { useProblem } from "../ui/problem";
import { size as sized } from "../ui/values";
import { rendered } from "./ansi";
import "./log.css";
import { LogStore } from "./log-store";

const HEIGHT = 20;
const SPARE = 20; // lines drawn beyond what is seen
const MOST_MATCHES = 2000;

interface Props {
  id: string;
  task: number;
  live: boolean;
  /** Of the task, where several logs are shown. */
  name: string;
}

export function Log({ id, task, live, name }: Props) {
  const words = useWords().log;
  const problem = useProblem();
  const alive = useRef(live);
  alive.current = live;
  const url = `/danlu/v1/jobs/${id}/logs?task=${task}`;
  const store = useMemo(() => new LogStore(url, () => alive.current), [url]);
  const view = useSyncExternalStore(store.subscribe, store.look);
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [room, setRoom] = useState(600);
  const [stuck, setStuck] = useState(true); // to the end
  const [sought, setSought] = useState("");
  const [chosen, setChosen] = useState(-1);

  useEffect(() => {
    void store.toEnd();
    return () => store.close();
  }, [store]);
  useEffect(() => {
    const element = box.current as HTMLDivElement;
    const watch = new ResizeObserver(() => setRoom(element.clientHeight));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);

  const count = view.lines.length + (view.open === "" ? 0 : 1);
  useLayoutEffect(() => {
    if (stuck && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [stuck, count, view.open, room]);
  // Lines that come before push down what is being read: stay with it.
  const base = useRef({ base: 0, count: 0 });
  useLayoutEffect(() => {
    const was = base.current;
    if (!stuck && view.base < was.base && box.current) {
      box.current.scrollTop += (view.lines.length - was.count) * HEIGHT;
    }
    base.current = { base: view.base, count: view.lines.length };
  }, [view.base, view.lines, stuck]);

  const scrolled = () => {
    const element = box.current as HTMLDivElement;
    setTop(element.scrollTop);
    const atEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - 2 * HEIGHT;
    setStuck(atEnd && view.end >= view.size);
    if (element.scrollTop < 40 * HEIGHT) void store.earlier();
    if (atEnd) void store.later();
  };

  const found = useQuery({
    queryKey: ["search", id, task, sought],
    queryFn: () =>
      got(
        api.GET("/danlu/v1/jobs/{ref}/logs/search", {
          params: { path: { ref: id }, query: { q: sought, task, ignore_case: true, limit: MOST_MATCHES } },
        }),
      ),
    enabled: sought !== "",
  });
  const matches = found.data?.matches ?? [];
  const go = useCallback(
    async (to: number) => {
      const match = matches[to];
      if (match === undefined) return;
      setChosen(to);
      setStuck(false);
      await store.to(match.offset, match.line);
      const lines = store.look().lines;
      let at = lines.findIndex((line) => line.start > match.offset);
      at = at < 0 ? lines.length - 1 : at - 1;
      requestAnimationFrame(() => {
        if (box.current) box.current.scrollTop = Math.max(0, at * HEIGHT - room / 2);
      });
    },
    [matches, store, room],
  );
  const shown = found.data;
  useEffect(() => {
    if (shown !== undefined && shown.matches.length > 0) void go(shown.matches.length - 1);
    // Only when another search has been answered.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [shown]);
  const next = (by: number) => matches.length > 0 && void go((chosen + by + matches.length) % matches.length);
  const press = (event: KeyboardEvent) => {
    if (event.key === "n") next(1);
    else if (event.key === "N") next(-1);
    else if (event.key === "End" || event.key === "G") toEnd();
    else if (event.key === "Home" || event.key === "g") toStart();
  };
  const toEnd = () => {
    if (view.end < view.size || (live && !view.following)) void store.toEnd();
    setStuck(true);
  };
  const toStart = () => {
    setStuck(false);
    void store.toStart().then(() => box.current?.scrollTo(0, 0));
  };

  const from = Math.max(0, Math.floor(top / HEIGHT) - SPARE);
  const to = Math.min(count, from + Math.ceil(room / HEIGHT) + 2 * SPARE);
  const digits = view.first === null ? 0 : String(view.first + count).length;
  const match = matches[chosen];
  const title = name === "" ? words.title : words.titleOf(name);
  return (
    <section className="card log" aria-label={title}>
      <div className="log-head">
        <h2 className="cut">{title}</h2>
        <form
          className="find"
          role="search"
          onSubmit={(event) => {
            event.preventDefault();
            const text = new FormData(event.currentTarget).get("q") as string;
            if (text === sought) next(-1);
            else setSought(text);
          }}
        >
          <Search />
          <input name="q" aria-label={words.search} placeholder={words.search} autoComplete="off" />
          <span className="note" role="status">
            {sought !== "" && found.data !== undefined && words.matches(matches.length === 0 ? 0 : chosen + 1, matches.length, found.data.more)}
          </span>
        </form>
        <span className="row no-phone">
          <button className="kbd" onClick={() => next(1)} aria-label={words.next}>n</button>
          <button className="kbd" onClick={() => next(-1)} aria-label={words.previous}>N</button>
        </span>
        <a className="button small" href={url} download={`${id}.log`}>
          <Down />
          <span className="no-phone">{words.download}</span>
        </a>
      </div>
      <div className="lines mono" ref={box} onScroll={scrolled} onKeyDown={press} tabIndex={0} role="log" aria-label={title} aria-live="off">
        <div style={{ height: count * HEIGHT, position: "relative", minWidth: "max-content" }}>
          <div style={{ position: "absolute", top: from * HEIGHT, left: 0, right: 0 }}>
            {Array.from({ length: Math.max(0, to - from) }, (_, index) => {
              const line = view.lines[from + index];
              const text = line?.text ?? view.open;
              return (
                <LineView
                  key={line?.start ?? "open"}
                  text={text}
                  number={view.first === null ? null : String(view.first + from + index).padStart(digits)}
                  sought={sought}
                  chosen={match !== undefined && line !== undefined && view.first !== null && view.first + from + index === match.line}
                />
              );
            })}
          </div>
        </div>
        {count === 0 && !view.loading && <p className="note" style={{ padding: 16 }}>{live ? words.nothingYet : words.nothing}</p>}
      </div>
      <div className="log-foot note">
        {view.error !== null ? (
          <span className="problem">{problem(view.error)}</span>
        ) : stuck && view.following ? (
          <span className="following">
            <Down size={13} />
            {words.following}
          </span>
        ) : (
          <button className="linklike" onClick={toEnd}>{words.toEnd}</button>
        )}
        {stuck && view.following && <span>{words.pause}</span>}
        <span className="grow" />
        <button className="linklike" onClick={toStart}>{words.toStart}</button>
        <span>
          {sized(view.size)}
          {view.first !== null && ` · ${words.line((view.first + count - 1).toLocaleString())}`}
        </span>
      </div>
    </section>
  );
}

interface LineProps {
  text: string;
  number: string | null;
  sought: string;
  chosen: boolean;
}

const LineView = memo(function LineView({ text, number, sought, chosen }: LineProps) {
  const spans = rendered(text);
  const wash = /\b(WARN|WARNING)\b/.test(text) ? "warned" : /\b(ERROR|FATAL|Traceback|Error:)\b/.test(text) ? "failed" : "";
  return (
    <div className={`line ${wash} ${chosen ? "chosen" : ""}`}>
      {number !== null && <span className="number">{number}</span>}
      {spans.map((span, index) => (
        <span key={index} className={span.style || undefined}>
          {sought === "" ? span.text : marked(span.text, sought)}
        </span>
      ))}
    </div>
  );
});

function marked(text: string, sought: string) {
  const lower = text.toLowerCase();
  const wanted = sought.toLowerCase();
  const parts = [];
  let from = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
    parts.push(text.slice(from, at), <mark key={at}>{text.slice(at, at + sought.length)}</mark>);
    from = at + Math.max(1, sought.length);
  }
  return [...parts, text.slice(from)];
}
