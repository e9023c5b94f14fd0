import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { Link } from "react-router";
import { api, got, type Schemas } from "../api/client";
import { useMe } from "../api/session";
import { useWords } from "../i18n";
import { useManageWords } from "../i18n/manage";
import { AskingButton, DataTable, Field, Once, Section, Segments, Wrong } from "../ui/manage";
import { Initials } from "../ui/people";
import { Problem } from "../ui/problem";
import { Sheet } from "../ui/sheet";
import { clock } from "../ui/time";
import { useGroups } from "./groups";

type User = Schemas["User"];
type Status = "" | "active" | "disabled";

export function Users() {
  const { time } = useWords();
  const all = useManageWords();
  const words = all.users;
  const me = useMe();
  const [find, setFind] = useState("");
  const [status, setStatus] = useState<Status>("");
  const [managed, setManaged] = useState<string | null>(null);
  const [adding, setAdding] = useState(false);
  const [password, setPassword] = useState<[string, string] | null>(null);
  const asked = useQuery({ queryKey: ["users"], queryFn: () => got(api.GET("/danlu/v1/users")) });
  const users = asked.data?.users;
  const seen = users?.filter(
    (user) =>
      (status === "" ? user.status !== "removed" : user.status === status) &&
      (find === "" || [user.name, user.full_name, ...user.groups].some((text) => text.toLowerCase().includes(find.toLowerCase()))),
  );
  const chosen = users?.find((user) => user.name === managed);
  if (asked.error !== null && users === undefined) return <Problem error={asked.error} retry={() => void asked.refetch()} />;
  return (
    <Section
      title={all.admin.tabs["users"] ?? ""}
      note={users && words.sum(users.filter((user) => user.status === "active").length, users.filter((user) => user.status !== "removed").length)}
      tools={
        <>
          <input className="input find" type="search" aria-label={words.find} placeholder={words.find} value={find} onChange={(event) => setFind(event.target.value)} />
          <Segments<Status> label={words.status} value={status} choices={[["", words.all], ["active", words.active], ["disabled", words.disabled]]} choose={setStatus} />
          <button className="button primary" onClick={() => setAdding(true)}>{words.add}</button>
        </>
      }
    >
      <DataTable
        rows={seen}
        keyOf={(user) => user.name}
        none={words.none}
        columns={[
          {
            title: all.people.name,
            cell: (user) => (
              <>
                <Initials name={user.name} me={user.name === me.user} /> <span className="breakable">{user.name}</span> <span className="note">{user.full_name}</span>
              </>
            ),
          },
          { title: words.role, cell: (user) => all.account.roles[user.role] ?? user.role, kind: "wide-only" },
          { title: all.account.groups, cell: (user) => user.groups.map((group) => <Link key={group} className="chip" to={`/group/${encodeURIComponent(group)}`}>{group}</Link>), kind: "wide-only" },
          { title: words.status, cell: (user) => <span className={user.status === "active" ? "badge go" : "badge bad"}>{words.statuses[user.status] ?? user.status}</span> },
          { title: words.created, cell: (user) => clock(user.created_at, time), kind: "wide-only" },
          { title: words.manage, kind: "acts", cell: (user) => <button className="button small" aria-label={words.more(user.name)} onClick={() => setManaged(user.name)}>{words.manage}</button> },
        ]}
      />
      {chosen !== undefined && <Manage user={chosen} me={me.user} close={() => setManaged(null)} reset={(secret) => setPassword([chosen.name, secret])} />}
      {adding && <Add close={() => setAdding(false)} added={(name, secret) => setPassword([name, secret])} />}
      {password !== null && <Once title={words.password(password[0])} secret={password[1]} close={() => setPassword(null)} />}
    </Section>
  );
}

function Manage({ user, me, close, reset }: { user: User; me: string; close: () => void; reset: (secret: string) => void }) {
  const words = useManageWords().users;
  const queries = useQueryClient();
  const [stop, setStop] = useState(false);
  const path = { params: { path: { name: user.name } } };
  const then = () => {
    void queries.invalidateQueries({ queryKey: ["users"] });
    close();
  };
  const admin = user.role === "admin";
  return (
    <Sheet title={user.name} close={close}>
      <div className="column-of-buttons">
        {user.name !== me && user.status === "active" && (
          <AskingButton
            small={false}
            name={words.disable}
            of={user.name}
            body={words.disableAsk(user.name)}
            act={() => api.POST("/danlu/v1/users/{name}/disable", { ...path, body: { stop_jobs: stop } })}
            then={then}
          >
            <label className="check">
              <input type="checkbox" checked={stop} onChange={(event) => setStop(event.target.checked)} />
              {words.stopJobs}
            </label>
          </AskingButton>
        )}
        {user.status === "disabled" && <Enable name={user.name} then={then} />}
        <AskingButton
          small={false}
          name={words.reset}
          of={user.name}
          body={words.resetAsk(user.name)}
          act={async () => {
            const answer = await got(api.POST("/danlu/v1/users/{name}/password", path));
            close();
            reset(answer.password);
          }}
        />
        {user.name !== me && (
          <AskingButton
            small={false}
            name={admin ? words.makeMember : words.makeAdmin}
            of={user.name}
            body={words.roleAsk(user.name, !admin)}
            act={() => api.PATCH("/danlu/v1/users/{name}", { ...path, body: { role: admin ? "member" : "admin" } })}
            then={then}
          />
        )}
        {user.name !== me && (
          <AskingButton
            small={false}
            name={words.remove}
            of={user.name}
            body={words.removeAsk(user.name)}
            act={() => api.DELETE("/danlu/v1/users/{name}", path)}
            then={then}
          />
        )}
      </div>
    </Sheet>
  );
}

function Enable({ name, then }: { name: string; then: () => void }) {
  const words = useManageWords().users;
  const going = useMutation({ mutationFn: () => api.POST("/danlu/v1/users/{name}/enable", { params: { path: { name } } }), onSuccess: then });
  return (
    <>
      <button className="button" disabled={going.isPending} onClick={() => going.mutate()}>{words.enable}</button>
      <Wrong error={going.error} />
    </>
  );
}

function Add({ close, added }: { close: () => void; added: (name: string, secret: string) => void }) {
  const all = useManageWords();
  const words = all.users;
  const queries = useQueryClient();
  const groups = useGroups();
  const going = useMutation({
    mutationFn: (form: FormData) =>
      got(
        api.POST("/danlu/v1/users", {
          body: {
            name: String(form.get("name")).trim(),
            full_name: String(form.get("full_name")),
            role: String(form.get("role")),
            groups: form.getAll("groups").map(String),
            trusted: form.get("trusted") !== null,
          },
        }),
      ),
    onSuccess: (answer) => {
      void queries.invalidateQueries({ queryKey: ["users"] });
      close();
      added(answer.name, answer.password);
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    going.mutate(new FormData(event.currentTarget));
  };
  return (
    <Sheet title={words.add} close={close}>
      <form className="stack" onSubmit={submit}>
        <Field label={all.people.name}>
          <input className="input" name="name" required maxLength={64} autoComplete="off" />
        </Field>
        <Field label={all.people.fullName}>
          <input className="input" name="full_name" maxLength={200} autoComplete="off" />
        </Field>
        <Field label={words.role}>
          <select className="input" name="role">
            <option value="member">{all.account.roles["member"]}</option>
            <option value="admin">{all.account.roles["admin"]}</option>
          </select>
        </Field>
        {(groups.data?.length ?? 0) > 0 && (
          <fieldset className="choices">
            <legend>{all.account.groups}</legend>
            {groups.data?.map((group) => (
              <label key={group.name} className="check">
                <input type="checkbox" name="groups" value={group.name} />
                {group.name}
              </label>
            ))}
          </fieldset>
        )}
        <label className="check">
          <input type="checkbox" name="trusted" />
          {words.trusted}
        </label>
        <Wrong error={going.error} />
        <div className="row">
          <button className="button primary" disabled={going.isPending}>{words.adding}</button>
          <button className="button" type="button" onClick={close}>{all.cancel}</button>
        </div>
      </form>
    </Sheet>
  );
}
