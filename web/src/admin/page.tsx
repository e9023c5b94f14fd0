import { useEffect, type ReactNode } from "react";
import { Navigate, NavLink, useParams } from "react-router";
import { useMe } from "../api/session";
import { useWords } from "../i18n";
import { useManageWords } from "../i18n/manage";
import { Invites } from "../manage/invites";
import { Requests } from "../manage/requests";
import { Warn } from "../ui/icons";
import { Audit } from "./audit";
import { Backup } from "./backup";
import { DiskQuotas } from "./disk-quotas";
import { Groups, useGroups } from "./groups";
import { Nodes } from "./nodes";
import { Queues } from "./queues";
import { Disks } from "../disks/page";
import { Quotas } from "./quotas";
import { Users } from "./users";
import { Volumes } from "./volumes";

const TABS: Record<string, () => ReactNode> = {
  users: () => <Users />,
  invitations: () => <Invitations />,
  groups: () => <Groups />,
  quotas: () => <><Quotas /><DiskQuotas /></>,
  queues: () => <Queues />,
  nodes: () => <Nodes />,
  volumes: () => <Volumes />,
  disks: () => <Disks />,
  audit: () => <Audit />,
  backup: () => <Backup />,
};

export default function AdminPage() {
  const { tab } = useParams();
  const me = useMe();
  const { name, error } = useWords();
  const words = useManageWords().admin;
  const shown = tab === undefined ? undefined : TABS[tab];
  useEffect(() => {
    document.title = `${(tab !== undefined && words.tabs[tab]) || words.title} · ${name}`;
  }, [tab, words, name]);
  if (me.role !== "admin") {
    return (
      <>
        <div className="page-head"><h1>{words.title}</h1></div>
        <div className="notice bad" role="alert">
          <Warn size={20} />
          <div className="grow">
            <b>{words.refused}</b>
            <span>{words.refusedWho}</span>
          </div>
          <NavLink className="button small" to="/">{error.home}</NavLink>
        </div>
      </>
    );
  }
  if (shown === undefined) return <Navigate to="/admin/users" replace />;
  return (
    <>
      <div className="page-head">
        <h1>{words.title}</h1>
      </div>
      <nav className="tabs" aria-label={words.title}>
        {Object.keys(TABS).map((key) => <NavLink key={key} to={`/admin/${key}`}>{words.tabs[key]}</NavLink>)}
      </nav>
      <div className="stack">{shown()}</div>
    </>
  );
}

function Invitations() {
  const groups = useGroups();
  return (
    <>
      <Requests />
      <Invites groups={groups.data?.map((group) => group.name) ?? []} />
    </>
  );
}
