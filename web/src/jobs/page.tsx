import { useEffect, useMemo, useRef, useState } from "react";
import { Link, useSearchParams } from "react-router";
import { useMe } from "../api/session";
import { useLive } from "../api/stream";
import { useWords } from "../i18n";
import { Problem } from "../ui/problem";
import "../map/map.css";
import { Bulk } from "./bulk";
import "./jobs.css";
import { once, useJobs, type Filters, type Job } from "./list";
import { JobTable } from "./table";

export default function JobsPage() {
  const words = useWords();
  const me = useMe();
  const [address, setAddress] = useSearchParams();
  const box = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState(address.get("text") ?? "");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const set = (key: string, value: string) => {
    const next = new URLSearchParams(location.search);
    next.delete("find");
    if (value === "") next.delete(key);
    else next.set(key, value);
    setAddress(next, { replace: true });
  };
  useEffect(() => {
    if (address.has("find")) box.current?.focus();
  }, [address]);
  useEffect(() => {
    const timer = setTimeout(() => typed !== (new URLSearchParams(location.search).get("text") ?? "") && set("text", typed), 250);
    return () => clearTimeout(timer);
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [typed]);
  useEffect(() => {
    document.title = `${words.jobs.title} · ${words.name}`;
  }, [words]);
  const text = address.get("text") ?? "";
  const ended = address.get("ended") ?? "";
  const state = address.get("state") ?? "";
  const owner = address.get("owner") === "all" ? undefined : me.user;
  const filters: Filters = {
    ...(text !== "" ? { text } : {}),
    ...(ended !== "" ? { active: ended === "no" } : {}),
    ...(state !== "" ? { state } : {}),
    ...(owner !== undefined ? { owner } : {}),
  };
  const asked = useJobs(filters);
  const pages = asked.data?.pages;
  const jobs = useMemo(() => once(pages), [pages]);
  const choose = (some: Job[], on: boolean) => {
    const next = new Set(chosen);
    some.forEach((job) => (on ? next.add(job.id) : next.delete(job.id)));
    setChosen(next);
  };
  const picked = jobs.filter((job) => chosen.has(job.id) && job.ended_at === null);
  return (
    <>
      <div className="page-head">
        <h1>{words.jobs.title}</h1>
        <div className="tools">
          <input ref={box} className="input find-jobs" type="search" aria-label={words.jobs.search} placeholder={words.jobs.search} value={typed} onChange={(event) => setTyped(event.target.value)} />
          <div className="segments" role="group">
            {(["", "no", "yes"] as const).map((value) => (
              <button key={value} aria-pressed={ended === value} onClick={() => set("ended", value)}>
                {value === "" ? words.jobs.all : value === "no" ? words.jobs.active : words.jobs.endedOnes}
              </button>
            ))}
          </div>
          {(me.role === "admin" || me.leads.length > 0) && (
            <div className="segments" role="group">
              <button aria-pressed={owner !== undefined} onClick={() => set("owner", "")}>{words.jobs.mine}</button>
              <button aria-pressed={owner === undefined} onClick={() => set("owner", "all")}>{words.jobs.everybody}</button>
            </div>
          )}
        </div>
      </div>
      {asked.error !== null && jobs.length === 0 ? (
        <Problem error={asked.error} retry={() => void asked.refetch()} />
      ) : asked.data !== undefined && jobs.length === 0 ? (
        <Nothing filtered={text !== "" || ended !== "" || state !== ""} />
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
      {picked.length > 0 && <Bulk jobs={picked} clear={() => setChosen(new Set())} />}
    </>
  );
}

function Nothing({ filtered }: { filtered: boolean }) {
  const words = useWords();
  const nodes = useLive().nodes;
  const free = [...(nodes?.values() ?? [])].flatMap((node) => node.gpus).filter((gpu) => gpu.state === "free").length;
  return (
    <div className="card empty">
      <p><b>{filtered ? words.jobs.none : words.jobs.nothing(free)}</b></p>
      <Link className="button primary" to="/submit">{words.map.newJob}</Link>
    </div>
  );
}
