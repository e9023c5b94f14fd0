import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { api, got, type Schemas } from "../api/client";
import { useManageWords } from "../i18n/manage";
import { AskingButton, DataTable, Field, SaveOrCancel, Section, Wrong } from "../ui/manage";
import { Sheet } from "../ui/sheet";
import { amount, size } from "../ui/values";

type Quota = Schemas["QuotaView"];

export function Quotas() {
  const all = useManageWords();
  const words = all.quota;
  const queries = useQueryClient();
  const again = () => void queries.invalidateQueries({ queryKey: ["quotas"] });
  const asked = useQuery({ queryKey: ["quotas"], queryFn: () => got(api.GET("/danlu/v1/quotas")) });
  const [edited, setEdited] = useState<Quota | "new" | null>(null);
  const limit = (used: string, most: string | null) => `${used} / ${most ?? "∞"}`;
  return (
    <Section title={words.title} note={words.note} tools={<button className="button primary" onClick={() => setEdited("new")}>{words.set}</button>}>
      <Wrong error={asked.error} />
      <DataTable
        rows={asked.data?.quotas}
        keyOf={(one) => `${one.of} ${one.name}`}
        none={words.none}
        columns={[
          { title: words.whose, cell: (one) => words.of(one.of, one.name) },
          { title: "GPU", cell: (one) => limit(amount(one.used_gpus), one.gpus === null ? null : amount(one.gpus)), kind: "num" },
          { title: words.models, cell: (one) => Object.entries(one.models).map(([model, n]) => `${model} ${amount(n)}`).join(", ") || "—", kind: "wide-only" },
          { title: "CPU", cell: (one) => limit(amount(one.used_cpus), one.cpus === null ? null : amount(one.cpus)), kind: "num wide-only" },
          { title: words.memory, cell: (one) => limit(size(one.used_memory), one.memory === null ? null : size(one.memory)), kind: "num wide-only" },
          { title: words.guaranteed, cell: (one) => (one.guaranteed > 0 ? amount(one.guaranteed) : "—"), kind: "num wide-only" },
          {
            title: words.change,
            kind: "acts",
            cell: (one) =>
              one.declared === "file" ? (
                <span className="note">{words.inFile}</span>
              ) : (
                <>
                  <button className="button small" onClick={() => setEdited(one)}>{words.change}</button>
                  <AskingButton
                    name={all.remove}
                    of={words.of(one.of, one.name)}
                    body={words.removeAsk(words.of(one.of, one.name))}
                    act={() => api.DELETE("/danlu/v1/quotas/{of}/{name}", { params: { path: { of: one.of as "user" | "group", name: one.name } } })}
                    then={again}
                  />
                </>
              ),
          },
        ]}
      />
      {edited !== null && <Edit quota={edited === "new" ? undefined : edited} again={again} close={() => setEdited(null)} />}
    </Section>
  );
}

function Edit({ quota, again, close }: { quota: Quota | undefined; again: () => void; close: () => void }) {
  const all = useManageWords();
  const words = all.quota;
  const number = (value: FormDataEntryValue | null) => (value === null || value === "" ? null : Number(value));
  const going = useMutation({
    mutationFn: (form: FormData) =>
      api.PUT("/danlu/v1/quotas/{of}/{name}", {
        params: { path: { of: (quota?.of ?? form.get("of")) as "user" | "group", name: quota?.name ?? String(form.get("name")).trim() } },
        body: {
          gpus: number(form.get("gpus")),
          models: modelsOf(String(form.get("models"))),
          cpus: number(form.get("cpus")),
          memory: String(form.get("memory")).trim() || null,
          guaranteed: number(form.get("guaranteed")) ?? 0,
        },
      }),
    onSuccess: () => {
      again();
      close();
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    going.mutate(new FormData(event.currentTarget));
  };
  return (
    <Sheet title={quota === undefined ? words.set : words.of(quota.of, quota.name)} close={close}>
      <form className="stack" onSubmit={submit}>
        {quota === undefined && (
          <div className="form-row">
            <Field label={words.kind}>
              <select className="input" name="of">
                {Object.entries(words.kinds).map(([key, name]) => <option key={key} value={key}>{name}</option>)}
              </select>
            </Field>
            <Field label={all.people.name} hint={words.everyone}>
              <input className="input" name="name" required maxLength={64} />
            </Field>
          </div>
        )}
        <div className="form-row">
          <Field label="GPU" hint={words.empty}>
            <input className="input" name="gpus" type="number" min={0} step="any" defaultValue={quota?.gpus ?? ""} />
          </Field>
          <Field label="CPU" hint={words.empty}>
            <input className="input" name="cpus" type="number" min={0} step="any" defaultValue={quota?.cpus ?? ""} />
          </Field>
          <Field label={words.memory} hint={words.empty}>
            <input className="input" name="memory" placeholder="512G" defaultValue={quota?.memory == null ? "" : String(quota.memory)} />
          </Field>
        </div>
        <div className="form-row">
          <Field label={words.models} hint={words.modelsHint}>
            <input className="input" name="models" defaultValue={Object.entries(quota?.models ?? {}).map(([model, n]) => `${model}=${n}`).join(", ")} />
          </Field>
          <Field label={words.guaranteed}>
            <input className="input" name="guaranteed" type="number" min={0} step="any" defaultValue={quota?.guaranteed ?? 0} />
          </Field>
        </div>
        <SaveOrCancel going={going} close={close} />
      </form>
    </Sheet>
  );
}

function modelsOf(text: string): Record<string, number> {
  const parts = text.split(/[,，]/).map((part) => part.split("="));
  return Object.fromEntries(parts.filter(([model]) => model?.trim()).map(([model = "", n = ""]) => [model.trim(), Number(n)]));
}
