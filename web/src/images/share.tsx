import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { api, got } from "../api/client";
import { useImageWords } from "../i18n/images";
import { People } from "../ui/icons";
import { AskingButton, Segments, Wrong } from "../ui/manage";
import { Sheet } from "../ui/sheet";
import { named, useAgain, useImage, type Image } from "./asks";

type Kind = "user" | "group" | "everybody";

export function ShareButton({ image }: { image: Image }) {
  const words = useImageWords().share;
  const [open, setOpen] = useState(false);
  return (
    <>
      <button className="button small" aria-label={`${words.title}: ${image.name}`} onClick={() => setOpen(true)}>
        <People />
        {words.title}
      </button>
      {open && (
        <Sheet title={`${words.title}: ${image.name}`} close={() => setOpen(false)}>
          <Latest image={image} />
        </Sheet>
      )}
    </>
  );
}

/** As it is by itself: a list says less of each. */
function Latest({ image }: { image: Image }) {
  return <Sharing image={useImage(image.id).data ?? image} primary />;
}

/** Who else may use it. */
export function Sharing({ image, primary = false }: { image: Image; primary?: boolean }) {
  const { share: words, everybody } = useImageWords();
  const again = useAgain();
  const [kind, setKind] = useState<Kind>("user");
  const [name, setName] = useState("");
  const share = useMutation({
    mutationFn: () => got(api.POST("/danlu/v1/images/{image}/share", { ...named(image), body: { kind, name: kind === "everybody" ? "" : name.trim() } })),
    onSuccess: () => {
      setName("");
      again();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    share.mutate();
  };
  const label = (one: Image["shares"][number]) => (one.kind === "everybody" ? everybody : `${one.name} (${words.kinds[one.kind]})`);
  return (
    <div className="stack">
      {image.shares.length === 0 ? (
        <p className="note">{words.nobody}</p>
      ) : (
        <ul className="shares" aria-label={words.heading}>
          {image.shares.map((one) => (
            <li key={`${one.kind} ${one.name}`}>
              <span className="grow breakable">{label(one)}</span>
              <AskingButton
                name={words.end}
                of={label(one)}
                body={words.endAsk(label(one))}
                act={() => got(api.POST("/danlu/v1/images/{image}/unshare", { ...named(image), body: { kind: one.kind, name: one.name } }))}
                then={again}
              />
            </li>
          ))}
        </ul>
      )}
      <form className="stack" onSubmit={submit}>
        <Segments<Kind> label={words.with} value={kind} choices={[["user", words.kinds.user], ["group", words.kinds.group], ["everybody", words.kinds.everybody]]} choose={setKind} />
        {kind !== "everybody" && (
          <label className="field">
            <span>{words.name}</span>
            <input className="input" name="share-name" required maxLength={64} autoComplete="off" spellCheck={false} value={name} aria-invalid={share.error !== null} onChange={(event) => setName(event.target.value)} />
          </label>
        )}
        <p className="note">{words.note}</p>
        <Wrong error={share.error} />
        <button className={primary ? "button primary" : "button"} disabled={share.isPending || (kind !== "everybody" && name.trim() === "")}>{words.do}</button>
      </form>
    </div>
  );
}
