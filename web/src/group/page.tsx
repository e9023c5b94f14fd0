import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { Navigate, useNavigate, useParams } from "react-router";
import { api, got, type Schemas } from "../api/client";
import { useMe } from "../api/session";
import { useWords } from "../i18n";
import { useManageWords } from "../i18n/manage";
import { Invites } from "../manage/invites";
import { Requests, useRequests } from "../manage/requests";
import { AskingButton, DataTable, Figure, Section } from "../ui/manage";
import { Initials } from "../ui/people";
import { Problem } from "../ui/problem";
import { clock } from "../ui/time";
import { amount, size } from "../ui/values";
import { UsageChart } from "./usage";

const DAYS = 30;

/** One's group: the first one led, unless the address names another. */
export default function GroupPage() {
  const { name } = useParams();
  const me = useMe();
  const words = useManageWords().group;
  const { name: site } = useWords();
  const groups = useQuery({ queryKey: ["groups"], queryFn: () => got(api.GET("/danlu/v1/groups")) });
  useEffect(() => {
    document.title = `${name ?? words.title} · ${site}`;
  }, [name, words, site]);
  const first = me.leads[0] ?? groups.data?.groups[0]?.name;
  if (name === undefined && first !== undefined) return <Navigate to={`/group/${encodeURIComponent(first)}`} replace />;
  if (name === undefined) {
    return (
      <>
        <h1>{words.title}</h1>
        {groups.data !== undefined && <p className="card empty">{words.none}</p>}
      </>
    );
  }
  const choices = (groups.data?.groups ?? []).map((group) => group.name).filter((one) => me.role === "admin" || me.leads.includes(one));
  return <OneGroup key={name} name={name} choices={choices} />;
}

function OneGroup({ name, choices }: { name: string; choices: string[] }) {
  const words = useManageWords().group;
  const navigate = useNavigate();
  const path = { params: { path: { name } } };
  const group = useQuery({ queryKey: ["group", name], queryFn: () => got(api.GET("/danlu/v1/groups/{name}", path)) });
  const usage = useQuery({
    queryKey: ["group", name, "usage"],
    queryFn: () =>
      got(
        api.GET("/danlu/v1/groups/{name}/usage", {
          params: { path: { name }, query: { days: DAYS, zone: -60 * new Date().getTimezoneOffset() } },
        }),
      ),
  });
  const quotas = useQuery({ queryKey: ["quotas"], queryFn: () => got(api.GET("/danlu/v1/quotas")) });
  const requests = useRequests(name);
  const error = group.error ?? usage.error;
  const list = quotas.data?.quotas.filter((quota) => quota.of === "group") ?? [];
  const quota = list.find((one) => one.name === name) ?? list.find((one) => one.name === "*");
  const hours = (usage.data?.gpu_seconds ?? 0) / 3600;
  return (
    <>
      <div className="page-head">
        <h1 className="breakable">{words.heading(name)}</h1>
        {choices.length > 1 && (
          <div className="tools">
            <select className="input" aria-label={words.choose} value={name} onChange={(event) => navigate(`/group/${encodeURIComponent(event.target.value)}`)}>
              {[...new Set([name, ...choices])].sort().map((one) => <option key={one}>{one}</option>)}
            </select>
          </div>
        )}
      </div>
      {error !== null ? (
        <Problem error={error} retry={() => void Promise.all([group.refetch(), usage.refetch()])} />
      ) : (
        <>
          <section className="card figures even" aria-label={words.title}>
            <Figure label={words.hours(DAYS)} value={usage.data === undefined ? "…" : amount(Math.round(hours * 10) / 10)} unit={words.gpuHours} note={group.data?.note} />
            <Figure
              label={words.inUse}
              value={quota === undefined || quota.name === "*" ? "—" : amount(quota.used_gpus)}
              unit={quota?.gpus == null ? "" : words.ofGpus(amount(quota.gpus))}
              note={quota?.gpus == null ? words.noQuota : undefined}
            />
            <Figure label={words.members} value={group.data?.members.length ?? "…"} note={words.leaders(group.data?.members.filter((one) => one.leader).map((one) => one.user).join(", ") ?? "")} />
            <Figure label={words.requests} value={requests.data?.length ?? "…"} tone={(requests.data?.length ?? 0) > 0 ? "ember" : ""} />
          </section>
          <div className="stack">
            {(requests.data?.length ?? 0) > 0 && <Requests group={name} />}
            {usage.data !== undefined && <UsageChart usage={usage.data} days={DAYS} />}
            {group.data !== undefined && <Members group={group.data} usage={usage.data} />}
            <Quotas quotas={quotas.data?.quotas} group={name} members={group.data?.members.map((one) => one.user) ?? []} />
            <Invites group={name} />
          </div>
        </>
      )}
    </>
  );
}

function Members({ group, usage }: { group: Schemas["Group"]; usage: Schemas["GroupUsage"] | undefined }) {
  const { time } = useWords();
  const all = useManageWords();
  const words = all.group;
  const me = useMe();
  const queries = useQueryClient();
  const used = new Map(usage?.members.map((one) => [one.user, one]));
  const left = [...used.values()].filter((one) => !group.members.some((member) => member.user === one.user));
  const rows = [
    ...group.members.map((member) => ({ ...member, here: true })),
    ...left.map((one) => ({ user: one.user, leader: false, joined_at: 0, here: false })),
  ].sort((a, b) => (used.get(b.user)?.gpu_seconds ?? 0) - (used.get(a.user)?.gpu_seconds ?? 0) || a.user.localeCompare(b.user));
  return (
    <Section title={words.members} note={words.membersNote(DAYS)}>
      <DataTable
        rows={rows}
        keyOf={(one) => one.user}
        none={words.noMembers}
        columns={[
          {
            title: all.people.name,
            cell: (one) => (
              <>
                <Initials name={one.user} me={one.user === me.user} /> <span className="breakable">{one.user}</span>{" "}
                {one.leader && <span className="badge">{words.leader}</span>}
                {!one.here && <span className="note">{words.left}</span>}
              </>
            ),
          },
          { title: words.gpuHours, cell: (one) => amount(Math.round((used.get(one.user)?.gpu_seconds ?? 0) / 360) / 10), kind: "num" },
          { title: words.jobs, cell: (one) => used.get(one.user)?.jobs ?? 0, kind: "num" },
          { title: words.joined, cell: (one) => (one.here ? clock(one.joined_at, time) : "—"), kind: "wide-only" },
          {
            title: all.remove,
            kind: "acts",
            cell: (one) =>
              one.here && one.user !== me.user ? (
                <AskingButton
                  name={all.remove}
                  of={one.user}
                  body={words.removeAsk(one.user, group.name)}
                  act={() => api.DELETE("/danlu/v1/groups/{name}/members/{user}", { params: { path: { name: group.name, user: one.user } } })}
                  then={() => void queries.invalidateQueries({ queryKey: ["group"] })}
                />
              ) : null,
          },
        ]}
      />
    </Section>
  );
}

function Quotas({ quotas, group, members }: { quotas: Schemas["QuotaView"][] | undefined; group: string; members: string[] }) {
  const all = useManageWords();
  const words = all.group;
  const rows = quotas?.filter((quota) => (quota.of === "group" && quota.name === group) || (quota.of === "user" && members.includes(quota.name)));
  return (
    <Section title={all.quota.title} note={words.quotaNote}>
      <DataTable
        rows={rows}
        keyOf={(one) => `${one.of} ${one.name}`}
        none={words.noQuotas}
        columns={[
          { title: all.quota.whose, cell: (one) => all.quota.of(one.of, one.name) },
          { title: "GPU", cell: (one) => `${amount(one.used_gpus)} / ${one.gpus === null ? "∞" : amount(one.gpus)}`, kind: "num" },
          { title: "CPU", cell: (one) => `${amount(one.used_cpus)} / ${one.cpus === null ? "∞" : amount(one.cpus)}`, kind: "num" },
          { title: all.quota.memory, cell: (one) => `${size(one.used_memory)} / ${one.memory === null ? "∞" : size(one.memory)}`, kind: "num wide-only" },
          { title: all.quota.guaranteed, cell: (one) => (one.guaranteed > 0 ? amount(one.guaranteed) : "—"), kind: "num wide-only" },
        ]}
      />
    </Section>
  );
}
