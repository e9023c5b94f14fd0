import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { api, got } from "../api/client";
import { useWords } from "../i18n";
import { useManageWords } from "../i18n/manage";
import { AskingButton, DataTable, Field, Once, Section, Wrong } from "../ui/manage";
import { clock } from "../ui/time";

/** Codes to sign up with. Without `group`: all one may see, for any of `groups` or none. */
export function Invites({ group, groups = [] }: { group?: string; groups?: string[] }) {
  const { time } = useWords();
  const all = useManageWords();
  const words = all.people;
  const queries = useQueryClient();
  const again = () => void queries.invalidateQueries({ queryKey: ["invites"] });
  const [made, setMade] = useState("");
  const asked = useQuery({
    queryKey: ["invites"],
    queryFn: () => got(api.GET("/danlu/v1/invites")),
    select: (found) => (group === undefined ? found.invites : found.invites.filter((one) => one.group === group)),
  });
  const invite = useMutation({
    mutationFn: (form: FormData) =>
      got(
        api.POST("/danlu/v1/invites", {
          body: {
            group: group ?? (String(form.get("group") ?? "") || null),
            uses: Number(form.get("uses")),
            expires_in: Number(form.get("days")) * 86_400,
            note: String(form.get("note")),
          },
        }),
      ),
    onSuccess: (answer) => {
      setMade(`${location.origin}/sign-up?code=${answer.code}`);
      again();
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    invite.mutate(new FormData(form), { onSuccess: () => form.reset() });
  };
  return (
    <Section title={words.invites} note={words.invitesNote}>
      <Wrong error={asked.error} />
      <DataTable
        rows={asked.data}
        keyOf={(one) => one.id}
        none={words.noInvites}
        columns={[
          { title: words.code, cell: (one) => <span className="mono">{one.begins}…</span> },
          ...(group === undefined ? [{ title: words.group, cell: (one: { group: string | null }) => one.group ?? "—" }] : []),
          { title: words.used, cell: (one) => `${one.used} / ${one.uses}`, kind: "num" },
          { title: words.note, cell: (one) => one.note || "—", kind: "wide-only" },
          { title: words.by, cell: (one) => one.created_by, kind: "wide-only" },
          { title: words.expires, cell: (one) => (one.expires_at === null ? all.never : clock(one.expires_at, time)), kind: "wide-only" },
          {
            title: words.end,
            kind: "acts",
            cell: (one) => (
              <AskingButton
                name={words.end}
                of={`${one.begins}…`}
                body={words.endInviteAsk}
                act={() => api.DELETE("/danlu/v1/invites/{id}", { params: { path: { id: one.id } } })}
                then={again}
              />
            ),
          },
        ]}
      />
      <form className="body" onSubmit={submit}>
        {group === undefined && (
          <Field label={words.group}>
            <select className="input" name="group">
              <option value="">{words.noGroup}</option>
              {groups.map((name) => <option key={name}>{name}</option>)}
            </select>
          </Field>
        )}
        <Field label={words.uses}>
          <input className="input" name="uses" type="number" min={1} max={1000} defaultValue={1} required />
        </Field>
        <Field label={words.days}>
          <input className="input" name="days" type="number" min={1} max={365} defaultValue={14} required />
        </Field>
        <Field label={words.note}>
          <input className="input" name="note" maxLength={200} />
        </Field>
        <button className="button" disabled={invite.isPending}>{words.invite}</button>
        <Wrong error={invite.error} />
      </form>
      {made !== "" && <Once title={words.invited} secret={made} close={() => setMade("")} />}
    </Section>
  );
}
