import { useMutation } from "@tanstack/react-query";
import { useId, useState, type ReactNode } from "react";
import { useManageWords } from "../i18n/manage";
import { Copy } from "./icons";
import "./manage.css";
import { useProblem } from "./problem";
import { Sheet } from "./sheet";

/** A card with a heading, a note below it and tools beside it. */
export function Section({ title, note, tools, children }: { title: string; note?: string; tools?: ReactNode; children: ReactNode }) {
  const id = useId();
  return (
    <section className="card manage" aria-labelledby={id}>
      <div className="head">
        <div>
          <h2 id={id}>{title}</h2>
          {note !== undefined && <p className="note">{note}</p>}
        </div>
        {tools !== undefined && <div className="row wrap">{tools}</div>}
      </div>
      {children}
    </section>
  );
}

export function Field({ label, hint, children }: { label: string; hint?: string; children: ReactNode }) {
  return (
    <label className="field">
      <span>{label}</span>
      {children}
      {hint !== undefined && <small className="note">{hint}</small>}
    </label>
  );
}

/** What went wrong, as a sentence where it happened. */
export function Wrong({ error }: { error: unknown }) {
  const said = useProblem();
  return error === null || error === undefined ? null : <p className="problem" role="alert">{said(error)}</p>;
}

/** The end of a form: why it could not be saved, and its two buttons. */
export function SaveOrCancel({ going, close }: { going: { error: unknown; isPending: boolean }; close: () => void }) {
  const words = useManageWords();
  return (
    <>
      <Wrong error={going.error} />
      <div className="row">
        <button className="button primary" disabled={going.isPending}>{words.admin.save}</button>
        <button className="button" type="button" onClick={close}>{words.cancel}</button>
      </div>
    </>
  );
}

interface Asked {
  name: string;
  /** What it is done to. */
  of: string;
  body: string;
  act: () => Promise<unknown>;
  then?: () => void;
  small?: boolean;
  disabled?: boolean;
  children?: ReactNode;
}

/** A plain button that asks once before it does something that cannot be undone. */
export function AskingButton({ name, of, body, act, then, small = true, disabled = false, children }: Asked) {
  const words = useManageWords();
  const [open, setOpen] = useState(false);
  const going = useMutation({
    mutationFn: act,
    onSuccess: () => {
      setOpen(false);
      then?.();
    },
  });
  return (
    <>
      <button className={small ? "button small" : "button"} disabled={disabled} onClick={() => setOpen(true)}>{name}</button>
      {open && (
        <Sheet title={words.titled(name, of)} close={() => setOpen(false)}>
          <div className="stack">
            <p>{body}</p>
            {children}
            <Wrong error={going.error} />
            <div className="row">
              <button className="button primary" disabled={going.isPending} onClick={() => going.mutate()}>{name}</button>
              <button className="button" onClick={() => setOpen(false)}>{words.cancel}</button>
            </div>
          </div>
        </Sheet>
      )}
    </>
  );
}

/** A secret that is shown this once. */
export function Once({ title, secret, close }: { title: string; secret: string; close: () => void }) {
  const words = useManageWords();
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(secret);
    setCopied(true);
  };
  return (
    <Sheet title={title} close={close}>
      <div className="stack">
        <p>{words.once}</p>
        <div className="row">
          <input className="input mono" readOnly value={secret} aria-label={title} onFocus={(event) => event.target.select()} />
          {/* Browsers offer the clipboard to pages of localhost and https only. */}
          {"clipboard" in navigator && (
            <button className="button" onClick={() => void copy()}>
              <Copy />
              {copied ? words.copied : words.copy}
            </button>
          )}
        </div>
      </div>
    </Sheet>
  );
}

/** One of a few choices, as buttons side by side. */
export function Segments<T extends string>({ label, value, choices, choose }: { label: string; value: T; choices: [T, string][]; choose: (value: T) => void }) {
  return (
    <div className="segments" role="group" aria-label={label}>
      {choices.map(([key, name]) => (
        <button key={key} type="button" aria-pressed={value === key} onClick={() => choose(key)}>{name}</button>
      ))}
    </div>
  );
}

export interface Column<T> {
  title: string;
  cell: (row: T) => ReactNode;
  /** `num`: aligned right; `wide-only`: left out on phones; `acts`: buttons, whose title is not shown. */
  kind?: string;
}

interface Shown<T> {
  rows: T[] | undefined;
  columns: Column<T>[];
  keyOf: (row: T) => string | number;
  none: string;
}

/** A list: its rows, or why there are none. */
export function DataTable<T>({ rows, columns, keyOf, none }: Shown<T>) {
  const words = useManageWords();
  if (rows === undefined || rows.length === 0) {
    return <p className="none" aria-busy={rows === undefined}>{rows === undefined ? words.loading : none}</p>;
  }
  return (
    <div className="list">
      <table className="table">
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} className={column.kind}>
                {column.kind === "acts" ? <span className="hidden-text">{column.title}</span> : column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => <td key={column.title} className={column.kind}>{column.cell(row)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** One of the big numbers on top of a page. */
export function Figure({ label, value, unit, note, tone }: { label: string; value: ReactNode; unit?: string; note?: ReactNode; tone?: string }) {
  return (
    <div className="figure">
      <div className="label">{label}</div>
      <div className="number">
        <b className={tone}>{value}</b>
        {unit}
      </div>
      {note !== undefined && <div className="note">{note}</div>}
    </div>
  );
}
