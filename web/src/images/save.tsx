import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState, type FormEvent } from "react";
import { Link } from "react-router";
import { api, got, type Schemas } from "../api/client";
import { useMe } from "../api/session";
import { useSaid } from "../i18n";
import { useImageWords } from "../i18n/images";
import { Box } from "../ui/icons";
import { Field, Wrong } from "../ui/manage";
import { Problem } from "../ui/problem";
import { Sheet } from "../ui/sheet";
import { size } from "../ui/values";
import "./images.css";

type Save = Schemas["Save"];
type Estimate = Schemas["SaveEstimate"];
const ENDED = ["saved", "failed", "cancelled", "interrupted"];

/** An environment by its name, or a job by its id. */
export type Saved = { environment: string; name: string } | { job: string; name: string };

const estimate = (of: Saved, image: string): Promise<Estimate> =>
  "environment" in of
    ? got(api.GET("/danlu/v1/environments/{name}/save", { params: { path: { name: of.environment }, query: { image } } }))
    : got(api.GET("/danlu/v1/jobs/{ref}/save", { params: { path: { ref: of.job }, query: { image } } }));

const begin = (of: Saved, body: Schemas["SaveOrder"]): Promise<Save> =>
  "environment" in of
    ? got(api.POST("/danlu/v1/environments/{name}/save", { params: { path: { name: of.environment } }, body }))
    : got(api.POST("/danlu/v1/jobs/{ref}/save", { params: { path: { ref: of.job } }, body }));

const slug = (text: string) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "") || "image";

/** Saves a container as an image: the size ahead, then how far it is. */
export default function SaveSheet({ of, close }: { of: Saved; close: () => void }) {
  const words = useImageWords().save;
  const [id, setId] = useState<string | null>(null);
  return (
    <Sheet title={words.title(of.name)} close={close}>
      {id === null ? <Form of={of} begun={setId} close={close} /> : <Progress id={id} close={close} />}
    </Sheet>
  );
}

function Form({ of, begun, close }: { of: Saved; begun: (id: string) => void; close: () => void }) {
  const all = useImageWords();
  const words = all.save;
  const me = useMe();
  const said = useSaid();
  const queries = useQueryClient();
  const [image, setImage] = useState(`${slug(me.user)}/${slug(of.name)}:1`);
  const [settled, setSettled] = useState(image);
  const [stop, setStop] = useState(false);
  const [fresh] = useState(uuid); // pressed twice, or sent twice by a bad network: saved once
  const asked = useQuery({ queryKey: ["save", of, settled], queryFn: () => estimate(of, settled), retry: false, placeholderData: keepPreviousData });
  const going = useMutation({
    mutationFn: () => begin(of, { image: image.trim(), stop, task: 0, description: "", id: fresh }),
    onSuccess: (save) => {
      void queries.invalidateQueries({ queryKey: ["images"] });
      begun(save.id);
    },
  });
  const last = useRef<Estimate>(undefined); // a name that is refused does not take the form away
  if (asked.data !== undefined) last.current = asked.data;
  const found = asked.data ?? last.current;
  const problem = said(found, "problem");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    going.mutate();
  };
  if (asked.error !== null && found === undefined) return <Problem error={asked.error} retry={() => void asked.refetch()} />;
  return (
    <form className="stack" onSubmit={submit}>
      <p className="sentence" role="status" aria-busy={found === undefined}>
        {found === undefined ? words.estimating : words.changed(size(found.changed))}
      </p>
      {found !== undefined && (
        <p className="note">
          {[found.files > 0 && words.files(found.files), found.room !== null && words.room(size(found.room)), found.kept_in === "node" && words.node, words.folders].filter(Boolean).join(" · ")}
        </p>
      )}
      <Field label={words.name} hint={words.nameHint(slug(me.user))}>
        <input className="input mono" name="image" required maxLength={255} value={image} autoComplete="off" spellCheck={false} aria-invalid={going.error !== null || asked.error !== null} onBlur={() => setSettled(image.trim())} onChange={(event) => setImage(event.target.value)} />
      </Field>
      <label className="check">
        <input type="checkbox" checked={stop} onChange={(event) => setStop(event.target.checked)} />
        {words.stop}
      </label>
      {!stop && <p className="note">{words.stopNote}</p>}
      {problem !== "" && <p className="problem" role="alert">{problem}</p>}
      <Wrong error={going.error ?? asked.error} />
      <div className="row">
        <button className="button primary" disabled={going.isPending || found === undefined}>
          <Box />
          {words.start}
        </button>
        <button className="button" type="button" onClick={close}>{all.cancel}</button>
      </div>
    </form>
  );
}

function Progress({ id, close }: { id: string; close: () => void }) {
  const all = useImageWords();
  const words = all.save;
  const said = useSaid();
  const path = { params: { path: { id } } };
  const asked = useQuery({
    queryKey: ["saves", id],
    queryFn: () => got(api.GET("/danlu/v1/saves/{id}", path)),
    refetchInterval: (query) => (query.state.data !== undefined && ENDED.includes(query.state.data.state) ? false : 1000),
  });
  const cancel = useMutation({ mutationFn: () => got(api.DELETE("/danlu/v1/saves/{id}", path)), onSuccess: () => void asked.refetch() });
  const save = asked.data;
  const ended = save !== undefined && ENDED.includes(save.state);
  const share = save === undefined || save.total === 0 ? 0 : Math.min(1, save.done / save.total);
  if (asked.error !== null && save === undefined) return <Problem error={asked.error} retry={() => void asked.refetch()} />;
  return (
    <div className="stack" data-save={save?.state ?? "waiting"}>
      <p className="sentence breakable" role="status">{save?.state === "saved" ? words.done(save.image) : (words.states[save?.state ?? "waiting"] ?? save?.state)}</p>
      {!ended && (
        <>
          <div className="meter ember" role="progressbar" aria-label={words.states["saving"]} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.floor(share * 100)}>
            <i style={{ width: `${share * 100}%` }} />
          </div>
          <p className="note">{[said(save, "step"), save !== undefined && save.total > 0 && `${size(save.done)} / ${size(save.total)}`].filter(Boolean).join(" · ")}</p>
          <p className="note">{words.begun}</p>
        </>
      )}
      {said(save, "error") !== "" && <p className="problem" role="alert">{said(save, "error")}</p>}
      <Wrong error={cancel.error} />
      <div className="row">
        {save?.state === "saved" && <Link className="button primary" to={`/images/${encodeURIComponent(save.image.replaceAll("/", "~"))}`}>{words.open}</Link>}
        {!ended && <button className="button" disabled={cancel.isPending} onClick={() => cancel.mutate()}>{words.cancelSave}</button>}
        <button className="button" onClick={close}>{words.close}</button>
      </div>
    </div>
  );
}

/** The browser's own is not there on plain HTTP. */
function uuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
