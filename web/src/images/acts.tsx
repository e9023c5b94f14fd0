import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { useNavigate } from "react-router";
import { api, got } from "../api/client";
import { useImageWords } from "../i18n/images";
import { AskingButton, Field, Wrong } from "../ui/manage";
import { Sheet } from "../ui/sheet";
import { named, useAgain, type Image } from "./asks";

function Note({ label, value, set }: { label: string; value: string; set: (value: string) => void }) {
  return (
    <label className="field">
      <span>{label}</span>
      <textarea className="input" rows={3} maxLength={2000} value={value} onChange={(event) => set(event.target.value)} />
    </label>
  );
}

export function Propose({ image }: { image: Image }) {
  const words = useImageWords().propose;
  const [note, setNote] = useState("");
  return (
    <AskingButton name={words.do} of={image.name} body={words.ask} act={() => got(api.POST("/danlu/v1/images/{image}/propose", { ...named(image), body: { note } }))} then={useAgain()}>
      <Note label={words.note} value={note} set={setNote} />
    </AskingButton>
  );
}

/** For admins: what becomes of a proposal. */
export function Decide({ image }: { image: Image }) {
  const words = useImageWords().propose;
  const again = useAgain();
  const [note, setNote] = useState("");
  const body = { ...named(image), body: { note } };
  return (
    <>
      {image.proposal_note !== "" && <p className="note breakable lines">{image.proposal_note}</p>}
      <AskingButton name={words.accept} of={image.name} body={words.acceptAsk} act={() => got(api.POST("/danlu/v1/images/{image}/accept", body))} then={again}>
        <Note label={words.answer} value={note} set={setNote} />
      </AskingButton>
      <AskingButton name={words.reject} of={image.name} body={words.rejectAsk} act={() => got(api.POST("/danlu/v1/images/{image}/reject", body))} then={again}>
        <Note label={words.answer} value={note} set={setNote} />
      </AskingButton>
    </>
  );
}

export function Verify({ image }: { image: Image }) {
  const words = useImageWords().verify;
  const [gpu, setGpu] = useState(false);
  return (
    <AskingButton
      name={words.do}
      of={image.name}
      body={words.ask}
      disabled={image.verified === "running"}
      act={() => got(api.POST("/danlu/v1/images/{image}/verify", { ...named(image), body: { gpus: gpu ? 1 : 0 } }))}
      then={useAgain()}
    >
      <label className="check">
        <input type="checkbox" checked={gpu} onChange={(event) => setGpu(event.target.checked)} />
        {words.gpu}
      </label>
    </AskingButton>
  );
}

export function Pull({ image }: { image: Image }) {
  const words = useImageWords().pull;
  const [nodes, setNodes] = useState("");
  const list = nodes.split(",").map((node) => node.trim()).filter(Boolean);
  return (
    <AskingButton name={words.do} of={image.name} body={words.ask} act={() => got(api.POST("/danlu/v1/images/{image}/pull", { ...named(image), body: { nodes: list } }))} then={useAgain()}>
      <label className="field">
        <span>{words.nodes}</span>
        <input className="input" value={nodes} autoComplete="off" onChange={(event) => setNodes(event.target.value)} />
      </label>
    </AskingButton>
  );
}

export function Remove({ image }: { image: Image }) {
  const words = useImageWords().remove;
  const again = useAgain();
  const navigate = useNavigate();
  const gone = () => {
    again();
    void navigate("/images");
  };
  return <AskingButton name={words.do} of={image.name} body={words.ask} act={() => got(api.DELETE("/danlu/v1/images/{image}", named(image)))} then={gone} />;
}

export function Describe({ image }: { image: Image }) {
  const { describe: words, cancel } = useImageWords();
  const again = useAgain();
  const [open, setOpen] = useState(false);
  const going = useMutation({
    mutationFn: (description: string) => got(api.PATCH("/danlu/v1/images/{image}", { ...named(image), body: { description } })),
    onSuccess: () => {
      again();
      setOpen(false);
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    going.mutate(String(new FormData(event.currentTarget).get("description") ?? ""));
  };
  return (
    <>
      <button className="button small" onClick={() => setOpen(true)}>{words.do}</button>
      {open && (
        <Sheet title={`${words.do}: ${image.name}`} close={() => setOpen(false)}>
          <form className="stack" onSubmit={submit}>
            <Field label={words.label}>
              <textarea className="input" name="description" rows={5} maxLength={2000} defaultValue={image.description} />
            </Field>
            <Wrong error={going.error} />
            <div className="row">
              <button className="button primary" disabled={going.isPending}>{words.save}</button>
              <button className="button" type="button" onClick={() => setOpen(false)}>{cancel}</button>
            </div>
          </form>
        </Sheet>
      )}
    </>
  );
}
