import { useEffect } from "react";
import { Link } from "react-router";
import { useMe } from "../api/session";
import { useNodes, useStatus } from "../api/stream";
import { useWords } from "../i18n";
import { useEnvironmentWords } from "../i18n/environments";
import { Plus } from "../ui/icons";
import { Problem } from "../ui/problem";
import { refOf, useEnvironments, type Environment } from "./asks";
import { Card } from "./card";
import "./environments.css";

/** One's own, those shared with one, and for admins and leaders the others'. */
export default function EnvironmentsPage() {
  const { name: site } = useWords();
  const words = useEnvironmentWords();
  const me = useMe();
  const away = useStatus() === "away";
  const asked = useEnvironments(me.role === "admin" || me.leads.length > 0);
  useEffect(() => {
    document.title = `${words.title} · ${site}`;
  }, [words, site]);
  const found = asked.data;
  const mine = found?.filter((one) => one.owner === me.user) ?? [];
  const shared = found?.filter((one) => one.owner !== me.user && one.shared.includes(me.user)) ?? [];
  const others = found?.filter((one) => one.owner !== me.user && !one.shared.includes(me.user)) ?? [];
  return (
    <>
      <div className="page-head">
        <h1>{words.title}</h1>
        <div className="tools">
          <Link className="button primary" to="/environments/new">
            <Plus />
            {words.create}
          </Link>
        </div>
      </div>
      {asked.error !== null && found === undefined && <Problem error={asked.error} retry={() => void asked.refetch()} />}
      {found === undefined ? (
        asked.error === null && <Loading />
      ) : (
        <div className={away ? "stack stale" : "stack"}>
          {mine.length === 0 && <Empty />}
          <Group title={words.mine} list={mine} />
          <Group title={words.shared} list={shared} />
          <Group title={words.others} list={others} />
        </div>
      )}
    </>
  );
}

function Group({ title, list }: { title: string; list: Environment[] }) {
  if (list.length === 0) return null;
  return (
    <section aria-label={title}>
      <h2 className="group-title">
        {title} <span className="dim">{list.length}</span>
      </h2>
      <div className="environments">
        {list.map((one) => <Card key={refOf(one)} environment={one} />)}
      </div>
    </section>
  );
}

function Loading() {
  return (
    <div className="environments" aria-busy="true">
      <div className="card environment" />
      <div className="card environment" />
    </div>
  );
}

function Empty() {
  const words = useEnvironmentWords();
  const nodes = useNodes();
  const free = [...(nodes?.values() ?? [])].flatMap((node) => node.gpus).filter((gpu) => gpu.state === "free").length;
  return (
    <div className="card empty">
      <b>{words.emptyTitle}</b>
      <p className="empty-words">{words.empty}</p>
      {nodes !== null && <p className="note">{words.free(free)}</p>}
      <Link className="button" to="/environments/new">{words.create}</Link>
    </div>
  );
}
