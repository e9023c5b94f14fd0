import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { Link } from "react-router";
import { api, got, type Schemas } from "../api/client";
import { useWords } from "../i18n";
import { useManageWords } from "../i18n/manage";
import { AskingButton, DataTable, Field, Section, Wrong } from "../ui/manage";
import { Sheet } from "../ui/sheet";
import { clock } from "../ui/time";

export function useGroups() {
  return useQuery({ queryKey: ["groups"], queryFn: () => got(api.GET("/danlu/v1/groups")), select: (found) => found.groups });
}

export function Groups() {
  const { time } = useWords();
  const all = useManageWords();
  const words = all.groups;
  const queries = useQueryClient();
  const again = () => void queries.invalidateQueries({ queryKey: ["groups"] });
  const asked = useGroups();
  const [opened, setOpened] = useState<string | null>(null);
  const add = useMutation({
    mutationFn: (form: FormData) => api.POST("/danlu/v1/groups", { body: { name: String(form.get("name")).trim(), note: String(form.get("note")) } }),
    onSuccess: again,
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    add.mutate(new FormData(form), { onSuccess: () => form.reset() });
  };
  const chosen = asked.data?.find((group) => group.name === opened);
  return (
    <Section title={all.admin.tabs["groups"] ?? ""}>
      <Wrong error={asked.error} />
      <DataTable
        rows={asked.data}
        keyOf={(group) => group.name}
        none={words.none}
        columns={[
          { title: all.people.group, cell: (group) => <><Link to={`/group/${encodeURIComponent(group.name)}`}>{group.name}</Link> <span className="note">{group.note}</span></> },
          { title: words.members, cell: (group) => group.members.length, kind: "num" },
          { title: words.leaders, cell: (group) => group.members.filter((one) => one.leader).map((one) => one.user).join(", ") || "—", kind: "wide-only" },
          { title: all.users.created, cell: (group) => clock(group.created_at, time), kind: "wide-only" },
          {
            title: all.admin.change,
            kind: "acts",
            cell: (group) => (
              <>
                <button className="button small" onClick={() => setOpened(group.name)}>{words.members}</button>
                <AskingButton
                  name={all.remove}
                  of={group.name}
                  body={words.removeAsk(group.name)}
                  act={() => api.DELETE("/danlu/v1/groups/{name}", { params: { path: { name: group.name } } })}
                  then={again}
                />
              </>
            ),
          },
        ]}
      />
      <form className="body" onSubmit={submit}>
        <Field label={words.add}>
          <input className="input" name="name" required maxLength={64} />
        </Field>
        <Field label={all.people.note}>
          <input className="input" name="note" maxLength={200} />
        </Field>
        <button className="button" disabled={add.isPending}>{words.create}</button>
        <Wrong error={add.error} />
      </form>
      {chosen !== undefined && <Members group={chosen} again={again} close={() => setOpened(null)} />}
    </Section>
  );
}

function Members({ group, again, close }: { group: Schemas["Group"]; again: () => void; close: () => void }) {
  const all = useManageWords();
  const words = all.groups;
  const users = useQuery({ queryKey: ["users"], queryFn: () => got(api.GET("/danlu/v1/users")) });
  const put = useMutation({
    mutationFn: ({ user, leader }: { user: string; leader: boolean }) =>
      api.PUT("/danlu/v1/groups/{name}/members/{user}", { params: { path: { name: group.name, user } }, body: { leader } }),
    onSuccess: again,
  });
  const remove = useMutation({
    mutationFn: (user: string) => api.DELETE("/danlu/v1/groups/{name}/members/{user}", { params: { path: { name: group.name, user } } }),
    onSuccess: again,
  });
  const others = users.data?.users.filter((user) => user.status === "active" && !group.members.some((one) => one.user === user.name)) ?? [];
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    put.mutate({ user: String(form.get("user")), leader: form.get("leader") !== null });
  };
  return (
    <Sheet title={all.titled(words.members, group.name)} close={close}>
      <div className="stack">
        <ul className="lines-of">
          {group.members.map((one) => (
            <li key={one.user} className="row">
              <span className="grow breakable">{one.user} {one.leader && <span className="badge">{words.leads}</span>}</span>
              <button className="button small" disabled={put.isPending} onClick={() => put.mutate({ user: one.user, leader: !one.leader })}>
                {one.leader ? words.noLeader : words.makeLeader}
              </button>
              <button className="button small" disabled={remove.isPending} title={words.removeMemberAsk(one.user, group.name)} onClick={() => remove.mutate(one.user)}>{all.remove}</button>
            </li>
          ))}
        </ul>
        <form className="form-row" onSubmit={submit}>
          <Field label={words.addMember}>
            <select className="input" name="user" required>
              {others.map((user) => <option key={user.name}>{user.name}</option>)}
            </select>
          </Field>
          <label className="check">
            <input type="checkbox" name="leader" />
            {words.asLeader}
          </label>
          <button className="button" disabled={put.isPending || others.length === 0}>{all.users.adding}</button>
        </form>
        <Wrong error={put.error ?? remove.error} />
      </div>
    </Sheet>
  );
}
