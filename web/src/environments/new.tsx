import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useId, useMemo, useState, type ReactNode } from "react";
import { useNavigate, useSearchParams } from "react-router";
import { api, got, Refusal, type Schemas } from "../api/client";
import { useMe } from "../api/session";
import { useLanguage, useWords } from "../i18n";
import { useEnvironmentWords } from "../i18n/environments";
import "../job/why.css";
import { Counts } from "../submit/counts";
import { Models } from "../submit/models";
import "../submit/submit.css";
import { toneOf, useHeadline, Verdict } from "../submit/verdict";
import { CopyButton } from "../ui/copy";
import { Cross } from "../ui/icons";
import { useProblem } from "../ui/problem";
import { pathOf, useEnvironments } from "./asks";
import "./environments.css";
import { BLANK, commandOf, nameFits, orderOf, STAND_IN, unusedName, type Draft } from "./draft";

type Order = Schemas["NewEnvironment"];
type Created = Schemas["CreatedEnvironment"];
const PAUSE = 150; // milliseconds after the last key

const post = (body: Order, dry: boolean): Promise<Created> =>
  got(api.POST("/danlu/v1/environments", { params: { query: { dry_run: dry } }, body }));

/** A dry run; the name is judged apart, so that a wrong one does not hide the verdict. */
const trial = (draft: Draft) => {
  const body = orderOf({ ...draft, name: nameFits(draft.name) ? draft.name : STAND_IN });
  return { queryKey: ["verdict", "environment", body], queryFn: () => post(body, true) };
};

const whyOf = (answer: Created) => answer.preview?.why;

export default function NewEnvironmentPage() {
  const words = useEnvironmentWords();
  const { name: site } = useWords();
  const me = useMe();
  const known = useEnvironments(false);
  useEffect(() => {
    document.title = `${words.create} · ${site}`;
  }, [words, site]);
  if (known.data === undefined && known.error === null) return <div aria-busy="true" className="card" style={{ minHeight: 400 }} />;
  const taken = (known.data ?? []).filter((one) => one.owner === me.user).map((one) => one.name);
  return <Form taken={taken} />;
}

function Form({ taken }: { taken: string[] }) {
  const all = useWords();
  const words = useEnvironmentWords();
  const { lang } = useLanguage();
  const me = useMe();
  const problem = useProblem();
  const headline = useHeadline();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [address] = useSearchParams();
  const [draft, setDraft] = useState<Draft>(() => ({ ...BLANK, image: address.get("image") ?? "", name: unusedName(taken), group: me.groups.length > 1 ? "" : null }));
  const [settled, setSettled] = useState(draft);
  const id = useMemo(freshId, []); // pressed twice, or sent twice by a bad network: created once
  useEffect(() => {
    const timer = setTimeout(() => setSettled(draft), PAUSE);
    return () => clearTimeout(timer);
  }, [draft]);
  const verdict = useQuery({ ...trial(settled), placeholderData: keepPreviousData, retry: false, staleTime: 3_000, refetchInterval: 20_000 });
  const going = useMutation({
    mutationFn: () => post({ ...orderOf(draft), id }, false),
    onSuccess: ({ environment }) => {
      void queries.invalidateQueries({ queryKey: ["environments"] });
      if (environment) void navigate(pathOf(environment));
    },
  });
  const set = (change: Partial<Draft>) => {
    going.reset();
    setDraft((before) => ({ ...before, ...change }));
  };
  const refused = [verdict.error, going.error].find((error) => error instanceof Refusal) ?? null;
  const at = (key: string): string => {
    const found = refused?.details.find((detail) => (detail.key ?? "").split(".").includes(key));
    return found === undefined ? "" : lang === "zh" ? found.message_zh : found.message_en;
  };
  const nameProblem = !nameFits(draft.name) ? words.form.nameWrong : taken.includes(draft.name) || refused?.code === "name_taken" ? words.form.nameTaken(draft.name) : at("name");
  const groupProblem = draft.group === "" ? words.form.chooseGroup : at("group");
  const preview = verdict.error === null ? (verdict.data?.preview ?? undefined) : undefined;
  const tone = preview === undefined ? null : toneOf(preview.why);
  const able = preview !== undefined && tone !== "bad" && nameProblem === "" && groupProblem === "" && !going.isPending;
  const button = tone === "wait" ? words.form.queue : words.form.create;
  const submit = () => able && going.mutate();
  const usual = (key: string): string => {
    const value = preview?.spec[key];
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  };
  const bar = refused !== null ? words.form.refused : preview === undefined ? all.submit.checking : headline(preview.why);
  return (
    <div onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && submit()}>
      <div className="page-head">
        <h1>{words.create}</h1>
      </div>
      <div className="submit">
        <div className="card">
          <div className="body form-grid">
            <Text label={words.form.name} value={draft.name} set={(name) => set({ name })} note={words.form.nameHint} problem={nameProblem} most={100} mono />
            <Text label={all.submit.image} value={draft.image} set={(image) => set({ image })} hint={all.submit.imageHint} note={words.form.imageNote} problem={at("image")} mono />
            <Counts value={draft.gpus} set={(gpus) => set({ gpus })} trial={(gpus) => trial({ ...settled, gpus })} whyOf={whyOf} />
            <p className="note wide">{words.form.gpuNote}</p>
            {at("gpus") !== "" && <p className="problem wide" role="alert">{at("gpus")}</p>}
            {draft.gpus > 0 && <Models value={draft.model} set={(model) => set({ model })} />}
            {draft.group !== null && (
              <Labelled label={words.form.group} problem={groupProblem}>
                {(more) => (
                  <select className="input" {...more} value={draft.group ?? ""} onChange={(event) => set({ group: event.target.value })}>
                    <option value="" />
                    {me.groups.map((group) => <option key={group}>{group}</option>)}
                  </select>
                )}
              </Labelled>
            )}
            <Text label={all.submit.cpus} value={draft.cpus} set={(cpus) => set({ cpus })} hint={usual("cpus")} problem={at("cpus")} />
            <Text label={all.submit.memory} value={draft.memory} set={(memory) => set({ memory })} hint={usual("memory")} problem={at("memory")} />
            <Text label={all.submit.limit} value={draft.time_limit} set={(limit) => set({ time_limit: limit })} hint={usual("time_limit") || words.noEnd} problem={at("time_limit")} />
            <Text label={words.form.idle} value={draft.idle_limit} set={(limit) => set({ idle_limit: limit })} hint={usual("idle_limit") || words.noIdle} note={words.form.idleNote} problem={at("idle_limit")} />
          </div>
        </div>
        <div className="right stack">
          {refused !== null && verdict.error !== null ? (
            <section className="card verdict bad" role="status">
              <Cross size={20} />
              <div className="grow">
                <p className="sentence">{words.form.refused}</p>
                {refused.details.length === 0 ? (
                  <p>{problem(refused)}</p>
                ) : (
                  refused.details.map((detail, index) => <p key={index}>{lang === "zh" ? detail.message_zh : detail.message_en}</p>)
                )}
              </div>
            </section>
          ) : preview !== undefined ? (
            <Verdict preview={preview} stale={verdict.isPlaceholderData} apply={(change) => set(applied(change))} />
          ) : (
            <section className="card verdict" aria-busy={verdict.error === null}>{verdict.error === null ? all.submit.checking : problem(verdict.error)}</section>
          )}
          <div className="row wrap">
            <button className="button primary" disabled={!able} onClick={submit}>
              {button} <span className="kbd">Ctrl ↵</span>
            </button>
            <CopyButton text={commandOf(draft)} name={all.submit.copy} done={all.submit.copied} label={all.submit.copy} />
          </div>
          {going.error !== null && <p className="problem" role="alert">{problem(going.error)}</p>}
        </div>
      </div>
      <div className="submit-bar">
        <span className="grow cut">{bar}</span>
        <button className="button primary" disabled={!able} onClick={submit}>{button}</button>
      </div>
    </div>
  );
}

/** What a suggestion of the scheduler changes, as far as this form has it. */
function applied(change: Record<string, unknown>): Partial<Draft> {
  const words = (key: string) => (key in change ? { [key]: change[key] == null ? "" : String(change[key]) } : {});
  const gpus = typeof change["gpus"] === "number" ? { gpus: change["gpus"] } : {};
  return { ...gpus, ...words("model"), ...words("cpus"), ...words("memory"), ...words("time_limit"), ...words("queue") };
}

// crypto.randomUUID would need https.
function freshId(): string {
  const hex = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-8$4-$5");
}

interface Held {
  id: string;
  "aria-invalid": boolean;
  "aria-describedby": string;
}

function Labelled({ label, note, problem, children }: { label: string; note?: string; problem: string; children: (more: Held) => ReactNode }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, "aria-invalid": problem !== "", "aria-describedby": `${id}-told` })}
      <small id={`${id}-told`} className={problem !== "" ? "problem" : "note"}>{problem !== "" ? problem : note}</small>
    </div>
  );
}

interface Typed {
  label: string;
  value: string;
  set: (value: string) => void;
  hint?: string;
  note?: string;
  problem: string;
  most?: number;
  mono?: boolean;
}

function Text({ label, value, set, hint, note, problem, most = 4096, mono = false }: Typed) {
  return (
    <Labelled label={label} note={note} problem={problem}>
      {(more) => (
        <input
          className={mono ? "input mono" : "input"}
          {...more}
          value={value}
          placeholder={hint}
          maxLength={most}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => set(event.target.value)}
        />
      )}
    </Labelled>
  );
}
