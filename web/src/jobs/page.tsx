import { useEffect, useMemo, useRef, useState } from "react";
import { Link, useSearchParams } from "react-router";
import { useMe } from "../api/session";
import { useNodes } from "../api/stream";
import { useWords } from "../i18n";
import { Problem } from "../ui/problem";
import "../map/map.css";
import { Bulk } from "./bulk";
import { Choices } from "./filters";
import "./jobs.css";
import { ALIVE, keyOf, once, sizeOf, useJobs, type Filters, type Job } from "./list";
import { JobTable } from "./table";

export default function JobsPage() {
  const words = useWords();
  const me = useMe();
  const [address, setAddress] = useSearchParams();
  const box = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState(address.get("text") ?? "");
  const [chosen, setChosen] = useState<ReadonlyMap<string, Job>>(new Map());
  const set = (changes: Record<string, string>) => {
    const next = new URLSearchParams(location.search);
    next.delete("find");
    for (const [key, value] of Object.entries(changes)) {
      if (value === "") next.delete(key);
      else next.set(key, value);
    }
    setAddress(next, { replace: true });
  };
  useEffect(() => {
    if (address.has("find")) box.current?.focus();
  }, [address]);
  useEffect(() => {
    const timer = setTimeout(() => typed !== (new URLSearchParams(location.search).get("text") ?? "") && set({ text: typed }), 250);
    return () => clearTimeout(timer);
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [typed]);
  useEffect(() => {
    document.title = `${words.jobs.title} · ${words.name}`;
  }, [words]);
  const text = address.get("text") ?? "";
  const ended = address.get("ended") ?? "";
  const state = address.get("state") ?? "";
  const queue = address.get("queue") ?? "";
  const whose = address.get("owner") ?? "";
  const owner = whose === "all" ? undefined : whose === "" ? me.user : whose;
  const filters: Filters = {
    ...(text !== "" ? { text } : {}),
    ...(ended !== "" ? { active: ended === "no" } : {}),
    ...(state !== "" ? { state } : {}),
    ...(queue !== "" ? { queue } : {}),
    ...(owner !== undefined ? { owner } : {}),
  };
  const asked = useJobs(filters);
  const pages = asked.data?.pages;
  const jobs = useMemo(() => once(pages), [pages]);
  const choose = (some: Job[], on: boolean) => {
    const next = new Map(chosen);
    some.forEach((job) => (on ? next.set(keyOf(job), job) : next.delete(keyOf(job))));
    setChosen(next);
  };
  // As they are now, where the list shows them.
  const fresh = new Map(jobs.map((job) => [keyOf(job), job]));
  const picked = [...chosen].map(([key, job]) => fresh.get(key) ?? job).filter((job) => sizeOf(job, ...ALIVE) > 0);
  return (
    <>
      <div className="page-head">
        <h1>{words.jobs.title}</h1>
        <div className="tools">
          <input ref={box} className="input find-jobs" type="search" aria-label={words.jobs.search} placeholder={words.jobs.search} value={typed} onChange={(event) => setTyped(event.target.value)} />
          <div className="segments" role="group" aria-label={words.jobs.endedOrNot}>
            {(["", "no", "yes"] as const).map((value) => (
              <button key={value} aria-pressed={state === "" && ended === value} onClick={() => set({ ended: value, state: "" })}>
                {value === "" ? words.jobs.all : value === "no" ? words.jobs.active : words.jobs.endedOnes}
              </button>
            ))}
          </div>
          <Choices state={state} queue={queue} owner={whose} set={set} />
        </div>
      </div>
      {asked.error !== null && jobs.length === 0 ? (
        <Problem error={asked.error} retry={() => void asked.refetch()} />
      ) : asked.data !== undefined && jobs.length === 0 ? (
        <Nothing filtered={[text, ended, state, queue, whose].some((value) => value !== "")} />
      ) : (
        <div className="card scroll-x" aria-busy={asked.data === undefined}>
          <JobTable jobs={jobs} chosen={chosen} choose={choose} />
        </div>
      )}
      {asked.hasNextPage && (
        <div className="more-jobs">
          <button className="button" disabled={asked.isFetchingNextPage} onClick={() => void asked.fetchNextPage()}>{words.jobs.more}</button>
        </div>
      )}
      {picked.length > 0 && <Bulk jobs={picked} clear={() => setChosen(new Map())} />}
    </>
  );
}

function Nothing({ filtered }: { filtered: boolean }) {
  const words = useWords();
  const nodes = useNodes();
  const free = [...(nodes?.values() ?? [])].flatMap((node) => node.gpus).filter((gpu) => gpu.state === "free").length;
  return (
    <div className="card empty">
      <p><b>{filtered ? words.jobs.none : words.jobs.nothing(free)}</b></p>
      <Link className="button primary" to="/submit">{words.map.newJob}</Link>
    </div>
  );
}
