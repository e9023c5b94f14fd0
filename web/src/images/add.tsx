import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { useNavigate } from "react-router";
import { api, got } from "../api/client";
import { useMe } from "../api/session";
import { useImageWords } from "../i18n/images";
import { Plus } from "../ui/icons";
import { Field, Wrong } from "../ui/manage";
import { Sheet } from "../ui/sheet";
import { pathOf, useAgain } from "./asks";

/** An image of another registry into the list. */
export function AddButton() {
  const { add, form: words, cancel } = useImageWords();
  const me = useMe();
  const navigate = useNavigate();
  const again = useAgain();
  const [open, setOpen] = useState(false);
  const going = useMutation({
    mutationFn: (form: FormData) =>
      got(api.POST("/danlu/v1/images", { body: { name: String(form.get("name") ?? "").trim(), description: String(form.get("description") ?? ""), ready: form.get("ready") !== null } })),
    onSuccess: (made) => {
      again();
      void navigate(pathOf(made));
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    going.mutate(new FormData(event.currentTarget));
  };
  return (
    <>
      <button className="button" onClick={() => setOpen(true)}>
        <Plus />
        {add}
      </button>
      {open && (
        <Sheet title={words.addTitle} close={() => setOpen(false)}>
          <form className="stack" onSubmit={submit}>
            <p>{words.addLead}</p>
            <Field label={words.addName}>
              <input className="input mono" name="name" required maxLength={255} placeholder={words.addHint} autoComplete="off" spellCheck={false} />
            </Field>
            <Field label={words.description}>
              <textarea className="input" name="description" rows={3} maxLength={2000} />
            </Field>
            {me.role === "admin" && (
              <label className="check">
                <input type="checkbox" name="ready" />
                {words.addReady}
              </label>
            )}
            <Wrong error={going.error} />
            <div className="row">
              <button className="button primary" disabled={going.isPending}>{words.addDo}</button>
              <button className="button" type="button" onClick={() => setOpen(false)}>{cancel}</button>
            </div>
          </form>
        </Sheet>
      )}
    </>
  );
}
