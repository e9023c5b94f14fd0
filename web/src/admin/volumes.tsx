import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { api, got, type Schemas } from "../api/client";
import { useManageWords } from "../i18n/manage";
import { AskingButton, DataTable, Field, SaveOrCancel, Section, Wrong } from "../ui/manage";
import { Sheet } from "../ui/sheet";

type Volume = Schemas["Volume"];

export function Volumes() {
  const all = useManageWords();
  const words = all.volumes;
  const queries = useQueryClient();
  const again = () => void queries.invalidateQueries({ queryKey: ["volumes"] });
  const asked = useQuery({ queryKey: ["volumes"], queryFn: () => got(api.GET("/danlu/v1/volumes")) });
  const [edited, setEdited] = useState<Volume | "new" | null>(null);
  const done = () => {
    again();
    setEdited(null);
  };
  return (
    <Section title={all.admin.tabs["volumes"] ?? ""} note={words.note} tools={<button className="button primary" onClick={() => setEdited("new")}>{words.add}</button>}>
      <Wrong error={asked.error} />
      <DataTable
        rows={asked.data?.volumes}
        keyOf={(one) => one.name}
        none={words.none}
        columns={[
          { title: words.name, cell: (one) => <><b className="breakable">{one.name}</b> <span className="note breakable">{one.note}</span></> },
          { title: words.source, cell: (one) => <span className="mono breakable">{one.source ?? "—"}</span>, kind: "wide-only" },
          { title: words.path, cell: (one) => <span className="mono breakable">{one.path}</span> },
          { title: words.readOnly, cell: (one) => (one.read_only ? all.admin.yes : all.admin.no), kind: "wide-only" },
          { title: words.everywhere, cell: (one) => (one.everywhere ? all.admin.yes : words.onRequest), kind: "wide-only" },
          { title: words.who, cell: (one) => [...(one.groups ?? []), ...(one.users ?? [])].join(", ") || words.everybody, kind: "wide-only" },
          {
            title: all.admin.change,
            kind: "acts",
            cell: (one) =>
              one.declared === "command" ? (
                <>
                  <button className="button small" onClick={() => setEdited(one)}>{all.admin.change}</button>
                  <AskingButton
                    name={all.remove}
                    of={one.name}
                    body={words.removeAsk(one.name)}
                    act={() => api.DELETE("/danlu/v1/volumes/{name}", { params: { path: { name: one.name } } })}
                    then={again}
                  />
                </>
              ) : (
                <span className="note">{all.queues.declared[one.declared] ?? one.declared}</span>
              ),
          },
        ]}
      />
      {edited !== null && <Edit volume={edited === "new" ? undefined : edited} done={done} close={() => setEdited(null)} />}
    </Section>
  );
}

const names = (value: FormDataEntryValue | null) => String(value ?? "").split(/[,，\s]+/).filter(Boolean);

function Edit({ volume, done, close }: { volume: Volume | undefined; done: () => void; close: () => void }) {
  const all = useManageWords();
  const words = all.volumes;
  const going = useMutation({
    mutationFn: async (form: FormData) => {
      const path = String(form.get("path")).trim();
      const values = {
        source: String(form.get("source")).trim(),
        ...(path === "" ? {} : { path }),
        read_only: form.get("read_only") !== null,
        everywhere: form.get("everywhere") !== null,
        groups: names(form.get("groups")),
        users: names(form.get("users")),
        note: String(form.get("note")),
      };
      if (volume === undefined) await api.POST("/danlu/v1/volumes", { body: { name: String(form.get("name")).trim(), ...values } });
      else await api.PATCH("/danlu/v1/volumes/{name}", { params: { path: { name: volume.name } }, body: values });
    },
    onSuccess: done,
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    going.mutate(new FormData(event.currentTarget));
  };
  return (
    <Sheet title={volume?.name ?? words.add} close={close}>
      <form className="stack" onSubmit={submit}>
        {volume === undefined && (
          <Field label={words.name}>
            <input className="input" name="name" required maxLength={64} autoComplete="off" />
          </Field>
        )}
        <Field label={words.source}>
          <input className="input mono" name="source" required defaultValue={volume?.source ?? ""} />
        </Field>
        <Field label={words.path} hint={words.pathHint}>
          <input className="input mono" name="path" defaultValue={volume?.path ?? ""} />
        </Field>
        <div className="form-row">
          <Field label={words.groups}>
            <input className="input" name="groups" defaultValue={volume?.groups?.join(", ") ?? ""} />
          </Field>
          <Field label={words.users}>
            <input className="input" name="users" defaultValue={volume?.users?.join(", ") ?? ""} />
          </Field>
        </div>
        <p className="note">{words.listHint}</p>
        <Field label={all.people.note}>
          <input className="input" name="note" maxLength={200} defaultValue={volume?.note ?? ""} />
        </Field>
        <label className="check">
          <input type="checkbox" name="read_only" defaultChecked={volume?.read_only ?? false} />
          {words.readOnly}
        </label>
        <label className="check">
          <input type="checkbox" name="everywhere" defaultChecked={volume?.everywhere ?? true} />
          {words.everywhere}
        </label>
        <SaveOrCancel going={going} close={close} />
      </form>
    </Sheet>
  );
}
