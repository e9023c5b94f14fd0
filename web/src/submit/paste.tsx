import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { authorised } from "../api/auth";
import { refusalOf, type Schemas } from "../api/client";
import { useSaid, useWords } from "../i18n";
import { useProblem } from "../ui/problem";
import { Sheet } from "../ui/sheet";
import { together } from "./draft";
import { nameOfSpec } from "./several";

type Conversion = Schemas["Conversion"];

/** A job in any language the server reads: what it is, what was mapped, and the same as a job of ours. */
export function Paste({ close, use }: { close: () => void; use: (text: string) => void }) {
  const { submit: words, colon } = useWords();
  const said = useSaid();
  const problem = useProblem();
  const [text, setText] = useState("");
  const reading = useMutation({
    mutationFn: async (): Promise<Conversion> => {
      const headers = new Headers({ "Content-Type": "application/yaml" });
      authorised(headers, "POST");
      const answer = await fetch("/danlu/v1/jobs/convert", { method: "POST", headers, body: text });
      if (!answer.ok) throw await refusalOf(answer);
      return (await answer.json()) as Conversion;
    },
  });
  const found = reading.data;
  const take = () => {
    if (found === undefined) return;
    use(together(found.jobs.map((job) => job.yaml)));
    close();
  };
  return (
    <Sheet title={words.paste} close={close}>
      <div className="stack">
        <textarea
          className="input mono"
          rows={10}
          aria-label={words.paste}
          placeholder={words.pasteHint}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            reading.reset();
          }}
        />
        <input type="file" aria-label={words.upload} onChange={(event) => void event.target.files?.[0]?.text().then(setText)} />
        {reading.error !== null && <p className="problem" role="alert">{problem(reading.error)}</p>}
        {found !== undefined && (
          <div>
            <p><b>{words.recognised(found.dialect, found.jobs.length)}</b></p>
            {found.jobs.length > 1 && (
              <ol className="pasted">
                {found.jobs.map((job, index) => <li key={index}>{nameOfSpec(job.native, index)}</li>)}
              </ol>
            )}
            <ul className="note">
              {found.notes.map((note, index) => (
                <li key={index}>{note.line != null && `${words.line(note.line)}${colon}`}{said(note)}</li>
              ))}
            </ul>
          </div>
        )}
        <div className="row">
          {found === undefined ? (
            <button className="button primary" disabled={text.trim() === "" || reading.isPending} onClick={() => reading.mutate()}>{words.read}</button>
          ) : (
            <button className="button primary" onClick={take}>{found.jobs.length > 1 ? words.useAll(found.jobs.length) : words.use}</button>
          )}
          <button className="button" onClick={close}>{words.cancel}</button>
        </div>
      </div>
    </Sheet>
  );
}
