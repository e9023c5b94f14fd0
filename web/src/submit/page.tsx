import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { useNavigate, useSearchParams } from "react-router";
import { authorised } from "../api/auth";
import { api, got, Refusal, refusalOf, type Schemas } from "../api/client";
import { useMe } from "../api/session";
import { useLanguage, useSaid, useWords } from "../i18n";
import "../job/why.css";
import { Cross } from "../ui/icons";
import { Problem, useProblem } from "../ui/problem";
import { refPath } from "../ui/values";
import { Counts } from "./counts";
import { BLANK, changed, fieldsOf, rolesOf, type Fields } from "./draft";
import { Models } from "./models";
import { Paste } from "./paste";
import { Several } from "./several";
import "./submit.css";
import { toneOf, useHeadline, Verdict } from "./verdict";

type Submitted = Schemas["Submitted"];
const PAUSE = 150; // milliseconds after the last key

async function post(text: string, dry: boolean): Promise<Submitted> {
  const headers = new Headers({ "Content-Type": "application/yaml" });
  authorised(headers, "POST");
  const answer = await fetch(`/danlu/v1/jobs${dry ? "?dry_run=true" : ""}`, { method: "POST", headers, body: text });
  if (!answer.ok) throw await refusalOf(answer);
  return (await answer.json()) as Submitted;
}

function useVerdict(text: string) {
  return useQuery({
    queryKey: ["verdict", text],
    queryFn: () => post(text, true),
    enabled: text.trim() !== "",
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: 3_000,
    refetchInterval: 20_000,
  });
}

export default function SubmitPage() {
  const [address] = useSearchParams();
  const clone = address.get("clone");
  const change = address.get("change");
  const asked = useQuery({
    queryKey: ["spec", clone],
    queryFn: async () =>
      (await api.GET("/danlu/v1/jobs/{ref}/spec", { params: { path: { ref: clone ?? "" } }, parseAs: "text" })).data as unknown as string,
    enabled: clone !== null,
    staleTime: Infinity,
  });
  if (clone === null) {
    const asks = change === null ? {} : changeIn(change);
    return <Editor key={change} start={asks === null || change === null ? BLANK : changed(BLANK, asks)} unread={asks === null} />;
  }
  if (asked.error !== null) return <Problem error={asked.error} />;
  if (asked.data === undefined) return <div aria-busy="true" className="card" style={{ minHeight: 400 }} />;
  const wanted = change === null ? {} : changeIn(change);
  return <Editor key={`${clone} ${change}`} start={wanted === null || change === null ? asked.data : changed(asked.data, wanted)} unread={wanted === null} />;
}

/** What the address asks to change; null: it cannot be read, as in a link that was cut. */
function changeIn(text: string): Record<string, unknown> | null {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === "object" && found !== null && !Array.isArray(found) ? (found as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function Editor({ start, unread = false }: { start: string; unread?: boolean }) {
  const words = useWords();
  const { lang } = useLanguage();
  const said = useSaid();
  const problem = useProblem();
  const headline = useHeadline();
  const navigate = useNavigate();
  const [text, setText] = useState(start);
  const [settled, setSettled] = useState(start);
  const [pasting, setPasting] = useState(false);
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  const verdict = useVerdict(settled);
  const fields = useMemo(() => fieldsOf(text), [text]);
  const roles = useMemo(() => rolesOf(text), [text]);
  const set = (key: keyof Fields, role?: string) => (value: unknown) => setText(changed(text, { [key]: value }, role));
  const previews = verdict.error === null ? (verdict.data?.previews ?? []) : [];
  const preview = previews[0];
  const several = previews.length > 1;
  const tones = previews.map((each) => toneOf(each.why));
  const tone = preview === undefined ? null : (["bad", "wait"] as const).find((each) => tones.includes(each)) ?? "go";
  const going = useMutation({
    mutationFn: () => post(text, false),
    onSuccess: (answer) => answer.jobs[0] && navigate(several ? "/jobs" : `/jobs/${refPath(answer.jobs[0].ref)}`),
  });
  const able = preview !== undefined && tone !== "bad" && !going.isPending;
  const button = several ? words.submit.submitAll(previews.length) : tone === "go" ? words.submit.start : words.submit.queue;
  const bar = preview === undefined ? words.submit.checking : several ? words.submit.several(previews.length) : headline(preview.why);
  const submit = () => able && going.mutate();
  const copy = async () => {
    await navigator.clipboard?.writeText(`danlu submit - <<'END'\n${text.endsWith("\n") ? text : `${text}\n`}END\n`);
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  };
  const refused = verdict.error instanceof Refusal ? verdict.error : null;
  const mistakes = (refused?.details ?? []).map((detail) => ({ ...detail, said: lang === "zh" ? detail.message_zh : detail.message_en }));
  return (
    <div onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && submit()}>
      <div className="page-head">
        <h1>{words.submit.title}</h1>
        <div className="tools">
          <Repeat use={setText} />
          <button className="button" onClick={() => setPasting(true)}>{words.submit.paste}</button>
        </div>
      </div>
      {unread && <p className="problem" role="alert">{words.submit.unread}</p>}
      <div className="submit">
        <div className="card">
          <div className="body">
            {fields === null ? (
              <p className="note">{several ? words.submit.severalForm(previews.length) : words.submit.noForm}</p>
            ) : roles.length > 0 ? (
              <div className="stack">
                <div className="form-grid">
                  <Text label={words.submit.name} value={fields.name} set={set("name")} mono />
                  <Text label={words.submit.limit} value={fields.time_limit} set={set("time_limit")} hint="12h" />
                </div>
                {roles.map((role) => <Role key={role.name} {...role} set={(key) => set(key, role.name)} />)}
              </div>
            ) : (
              <div className="form-grid">
                <Text label={words.submit.name} value={fields.name} set={set("name")} mono />
                <Text label={words.submit.image} value={fields.image} set={set("image")} mono hint={words.submit.imageHint} />
                <label className="field wide">
                  <span>{words.submit.command}</span>
                  <textarea className="input mono" name="command" rows={3} value={fields.command} onChange={(event) => set("command")(event.target.value)} />
                </label>
                <Counts
                  value={fields.gpus}
                  set={set("gpus")}
                  trial={(count) => {
                    const body = changed(settled, { gpus: count });
                    return { queryKey: ["verdict", body], queryFn: () => post(body, true) };
                  }}
                  whyOf={(answer) => answer.previews[0]?.why}
                />
                <Models value={fields.model} set={set("model")} />
                <Text label={words.submit.count} value={fields.count} set={set("count")} hint="1" />
                <Text label={words.submit.cpus} value={fields.cpus} set={set("cpus")} hint={words.submit.follows} />
                <Text label={words.submit.memory} value={fields.memory} set={set("memory")} hint={words.submit.follows} />
                <Text label={words.submit.shm} value={fields.shm} set={set("shm")} hint={words.submit.shmHint} />
                <Text label={words.submit.limit} value={fields.time_limit} set={set("time_limit")} hint="12h" />
              </div>
            )}
          </div>
        </div>
        <div className="right stack">
          {refused !== null ? (
            <section className="card verdict bad" role="status">
              <Cross size={20} />
              <div className="grow">
                <p className="sentence">{mistakes.length > 0 ? mistakes[0]?.said : lang === "zh" ? refused.zh : refused.en}</p>
                <ul className="problems">
                  {mistakes.map((detail, index) => (
                    <li key={index}>
                      {index > 0 && detail.said}
                      {detail.line != null && <span className="note"> · {words.submit.line(detail.line)}</span>}
                    </li>
                  ))}
                </ul>
              </div>
            </section>
          ) : several ? (
            <Several previews={previews} stale={verdict.isPlaceholderData} />
          ) : preview !== undefined ? (
            <Verdict preview={preview} stale={verdict.isPlaceholderData} apply={(change) => setText(changed(text, change))} />
          ) : (
            <section className="card verdict" aria-busy="true">{words.submit.checking}</section>
          )}
          <div className="row wrap">
            <button className="button primary" disabled={!able} onClick={submit}>
              {button} <span className="kbd">Ctrl ↵</span>
            </button>
            <button className="button" onClick={() => void copy()}>{copied ? words.submit.copied : words.submit.copy}</button>
          </div>
          {going.error !== null && <p className="problem" role="alert">{problem(going.error)}</p>}
          {(verdict.data?.notes ?? []).length > 0 && refused === null && (
            <ul className="note">
              {verdict.data?.notes.slice(0, 20).map((note, index) => <li key={index}>{said(note)}</li>)}
            </ul>
          )}
          <section className="card yaml-card">
            <div className="head">
              <h2>YAML</h2>
              {fields !== null && <span className="note">{words.submit.same}</span>}
            </div>
            <Yaml text={text} set={setText} />
          </section>
        </div>
      </div>
      <div className="submit-bar">
        <span className="grow cut">{bar}</span>
        <button className="button primary" disabled={!able} onClick={submit}>{button}</button>
      </div>
      {pasting && <Paste close={() => setPasting(false)} use={setText} />}
    </div>
  );
}

function Text({ label, value, set, hint, mono }: { label: string; value: string; set: (value: string) => void; hint?: string; mono?: boolean }) {
  return (
    <label className="field">
      <span>{label}</span>
      <input className={`input ${mono ? "mono" : ""}`} value={value} placeholder={hint} onChange={(event) => set(event.target.value)} />
    </label>
  );
}

/** The file itself, with the numbers of its lines: what is wrong is told by them. */
function Yaml({ text, set }: { text: string; set: (text: string) => void }) {
  const gutter = useRef<HTMLDivElement>(null);
  const lines = text.split("\n").length;
  return (
    <div className="numbered">
      <div className="gutter" aria-hidden="true" ref={gutter}>{Array.from({ length: lines }, (_, index) => index + 1).join("\n")}</div>
      <textarea
        className="yaml"
        aria-label="YAML"
        spellCheck={false}
        wrap="off"
        value={text}
        onChange={(event) => set(event.target.value)}
        onScroll={(event) => gutter.current && (gutter.current.scrollTop = event.currentTarget.scrollTop)}
        rows={Math.min(24, lines + 1)}
      />
    </div>
  );
}

/** The tasks of one role. */
function Role({ name, fields, set }: { name: string; fields: Fields; set: (key: keyof Fields) => (value: unknown) => void }) {
  const words = useWords().submit;
  return (
    <fieldset className="role">
      <legend>{words.role(name)}</legend>
      <div className="form-grid">
        <label className="field wide">
          <span>{words.command}</span>
          <textarea className="input mono" rows={2} value={fields.command} onChange={(event) => set("command")(event.target.value)} />
        </label>
        <Text label={words.image} value={fields.image} set={set("image")} mono hint={words.imageHint} />
        <Text label={words.roleCount} value={fields.count} set={set("count")} hint="1" />
        <Text label={words.gpus} value={fields.gpus ? String(fields.gpus) : ""} set={(value) => set("gpus")(Number(value) || 0)} hint="0" />
        <Models value={fields.model} set={set("model")} />
        <Text label={words.cpus} value={fields.cpus} set={set("cpus")} hint={words.follows} />
        <Text label={words.memory} value={fields.memory} set={set("memory")} hint={words.follows} />
      </div>
    </fieldset>
  );
}

function Repeat({ use }: { use: (text: string) => void }) {
  const words = useWords().submit;
  const me = useMe().user;
  const last = useQuery({
    queryKey: ["jobs", "last", me],
    queryFn: () => got(api.GET("/danlu/v1/jobs", { params: { query: { owner: me, limit: 1 } } })),
  });
  const job = last.data?.jobs[0];
  if (job === undefined) return null;
  const repeat = async () => {
    // Of an array all of it, not the element that happens to be the last.
    const ref = job.array_index === null ? job.id : job.ref.slice(0, job.ref.lastIndexOf(".")).replace("/", "~");
    const answer = await api.GET("/danlu/v1/jobs/{ref}/spec", { params: { path: { ref } }, parseAs: "text" });
    use(answer.data as unknown as string);
  };
  return <button className="button" title={job.ref} onClick={() => void repeat()}>{words.repeat}</button>;
}
