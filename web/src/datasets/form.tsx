import { useMutation } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { api, got } from "../api/client";
import { useMe } from "../api/session";
import { useDataWords } from "../i18n/data";
import { Field, Wrong } from "../ui/manage";
import { Sheet } from "../ui/sheet";
import { named, useAgain, type Dataset } from "./asks";

/** A new one, or the words of one that exists. */
export function DatasetForm({ dataset, close }: { dataset?: Dataset; close: () => void }) {
  const all = useDataWords().datasets;
  const words = all.form;
  const me = useMe();
  const again = useAgain();
  const admin = me.role === "admin";
  const going = useMutation({
    mutationFn: async (form: FormData) => {
      const text = (key: string) => String(form.get(key) ?? "").trim();
      const told = { title: text("title"), licence: text("licence"), how: String(form.get("how") ?? "") };
      const place = { volume: text("volume") || "gdata", folder: text("folder") || null };
      const keeper = text("keeper") || null;
      if (dataset === undefined) {
        return got(api.POST("/danlu/v1/datasets", { body: { name: text("name"), ...place, ...told, keeper, everywhere: !admin || form.get("everywhere") !== null } }));
      }
      const more = admin ? { ...place, everywhere: form.get("everywhere") !== null, ...(keeper === null ? {} : { keeper }) } : {};
      return got(api.PATCH("/danlu/v1/datasets/{name}", { ...named(dataset), body: { ...told, ...more } }));
    },
    onSuccess: () => {
      again();
      close();
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    going.mutate(new FormData(event.currentTarget));
  };
  const title = dataset?.name ?? (admin ? all.add : all.propose);
  return (
    <Sheet title={title} close={close}>
      <form className="stack" onSubmit={submit}>
        {dataset === undefined && (
          <Field label={words.name} hint={words.nameHint}>
            <input className="input" name="name" required maxLength={64} autoComplete="off" spellCheck={false} />
          </Field>
        )}
        <Field label={words.titleLabel}>
          <input className="input" name="title" maxLength={200} defaultValue={dataset?.title ?? ""} />
        </Field>
        {(dataset === undefined || admin) && (
          <div className="form-row">
            <Field label={words.volume} hint={words.volumeHint}>
              <input className="input mono" name="volume" maxLength={64} defaultValue={dataset?.volume ?? "gdata"} />
            </Field>
            <Field label={words.folder} hint={words.folderHint}>
              <input className="input mono" name="folder" maxLength={4096} defaultValue={dataset?.folder ?? ""} />
            </Field>
          </div>
        )}
        <Field label={words.how} hint={words.howHint}>
          <textarea className="input mono" name="how" rows={5} maxLength={20_000} defaultValue={dataset?.how ?? ""} />
        </Field>
        <div className="form-row">
          <Field label={words.licence}>
            <input className="input" name="licence" maxLength={200} defaultValue={dataset?.licence ?? ""} />
          </Field>
          {admin && (
            <Field label={words.keeper}>
              <input className="input" name="keeper" maxLength={64} defaultValue={dataset?.keeper ?? me.user} autoComplete="off" />
            </Field>
          )}
        </div>
        {admin && (
          <label className="check">
            <input type="checkbox" name="everywhere" defaultChecked={dataset?.everywhere ?? true} />
            {words.everywhere}
          </label>
        )}
        <Wrong error={going.error} />
        <div className="row">
          <button className="button primary" disabled={going.isPending}>{dataset === undefined ? (admin ? all.add : all.propose) : words.save}</button>
          <button className="button" type="button" onClick={close}>{words.cancel}</button>
        </div>
      </form>
    </Sheet>
  );
}
