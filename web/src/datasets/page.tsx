import { useEffect, useState } from "react";
import { useParams } from "react-router";
import { useMe } from "../api/session";
import { useStatus } from "../api/stream";
import "../environments/environments.css";
import { useWords } from "../i18n";
import { useDataWords } from "../i18n/data";
import "../map/map.css";
import { Decisions, isNews } from "../ui/decisions";
import { Plus } from "../ui/icons";
import { Figure } from "../ui/manage";
import { Problem } from "../ui/problem";
import { SectionTabs } from "../ui/section-tabs";
import { size } from "../ui/values";
import { useDatasets, type Dataset } from "./asks";
import { Card } from "./card";
import "./datasets.css";
import { DatasetForm } from "./form";

const sum = (list: Dataset[], of: (one: Dataset) => number) => list.reduce((total, one) => total + of(one), 0);

export default function DatasetsPage() {
  const { name: site } = useWords();
  const words = useDataWords().datasets;
  const me = useMe();
  const { name } = useParams();
  const away = useStatus() === "away";
  const asked = useDatasets();
  const [adds, setAdds] = useState(false);
  const [text, setText] = useState(name ?? "");
  useEffect(() => {
    document.title = `${words.title} · ${site}`;
  }, [words, site]);
  const found = asked.data;
  const wanted = text.trim().toLowerCase();
  const shown = (found ?? [])
    .filter((one) => [one.name, one.title, one.how, one.licence].some((each) => each.toLowerCase().includes(wanted)))
    .sort((a, b) => Number(a.state === "ready") - Number(b.state === "ready") || a.name.localeCompare(b.name));
  const admin = me.role === "admin";
  return (
    <>
      <SectionTabs />
      <div className="page-head">
        <h1>{words.title}</h1>
        <div className="tools">
          <input className="input find-here" type="search" aria-label={words.find} placeholder={words.find} value={text} onChange={(event) => setText(event.target.value)} />
          <button className="button primary" onClick={() => setAdds(true)}>
            <Plus />
            {admin ? words.add : words.propose}
          </button>
        </div>
      </div>
      {asked.error !== null && found === undefined && <Problem error={asked.error} retry={() => void asked.refetch()} />}
      {found === undefined ? (
        asked.error === null && (
          <div className="datasets" aria-busy="true">
            <div className="card dataset" />
            <div className="card dataset" />
          </div>
        )
      ) : (
        <div className={away ? "stale" : undefined}>
          <News list={found} />
          {found.length > 0 && <Figures list={found} admin={admin} />}
          {found.length === 0 ? (
            <div className="card empty">
              <b>{words.emptyTitle}</b>
              <p className="empty-words">{words.empty}</p>
              <button className="button" onClick={() => setAdds(true)}>{admin ? words.add : words.propose}</button>
            </div>
          ) : shown.length === 0 ? (
            <div className="card empty"><p>{words.none}</p></div>
          ) : (
            <div className="datasets">{shown.map((one) => <Card key={one.name} dataset={one} />)}</div>
          )}
        </div>
      )}
      {adds && <DatasetForm close={() => setAdds(false)} />}
    </>
  );
}

function News({ list }: { list: Dataset[] }) {
  const words = useDataWords().datasets;
  const me = useMe();
  const mine = list.filter((one) => one.proposed_by === me.user && one.state !== "proposed" && isNews(one.state === "ready", one.decided_at));
  return <Decisions list={mine.map((one) => ({ key: one.name, accepted: one.state === "ready", words: one.state === "ready" ? words.acceptedNews(one.decided_by, one.name, one.path) : words.rejectedNews(one.decided_by, one.name), why: one.reason, at: one.decided_at }))} />;
}

function Figures({ list, admin }: { list: Dataset[]; admin: boolean }) {
  const words = useDataWords().datasets.figures;
  const ready = list.filter((one) => one.state === "ready");
  const unmeasured = ready.filter((one) => one.bytes === null).length;
  const [bytes = "", unit] = size(sum(ready, (one) => one.bytes ?? 0)).split(" ");
  return (
    <div className="card figures even">
      <Figure label={words.all} value={ready.length} note={words.files(sum(ready, (one) => one.files ?? 0))} />
      <Figure label={words.size} value={bytes} unit={unit} note={unmeasured > 0 ? words.unmeasured(unmeasured) : ""} />
      <Figure label={words.fast} value={sum(ready, (one) => one.copies.filter((copy) => copy.state === "ready").length)} note={words.fastNote} />
      <Figure label={words.proposed} value={list.filter((one) => one.state === "proposed").length} note={admin ? words.proposedAdmin : words.proposedMine} />
    </div>
  );
}
