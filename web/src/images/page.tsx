import { useEffect, useState } from "react";
import { Link, useSearchParams } from "react-router";
import { useMe } from "../api/session";
import { useStatus } from "../api/stream";
import "../environments/environments.css";
import { useWords } from "../i18n";
import { useImageWords } from "../i18n/images";
import "../map/map.css";
import { Decisions, isNews } from "../ui/decisions";
import { Box } from "../ui/icons";
import { Figure, Segments } from "../ui/manage";
import { Problem } from "../ui/problem";
import { SectionTabs } from "../ui/section-tabs";
import { size } from "../ui/values";
import { AddButton } from "./add";
import { isOf, useImages, type Image, type Which } from "./asks";
import { Card } from "./card";
import "./images.css";
import { RegistryCard } from "./registry";

const CHOICES: Which[] = ["all", "ready", "own", "shared", "proposed"];

export default function ImagesPage() {
  const { name: site } = useWords();
  const words = useImageWords();
  const me = useMe();
  const away = useStatus() === "away";
  const asked = useImages();
  const [address, setAddress] = useSearchParams();
  const [text, setText] = useState("");
  useEffect(() => {
    document.title = `${words.title} · ${site}`;
  }, [words, site]);
  const found = asked.data;
  const which = CHOICES.find((choice) => choice === address.get("which")) ?? "all";
  const wanted = text.trim().toLowerCase();
  const shown = (found ?? []).filter((image) => isOf(image, which, me) && [image.name, image.description, image.owner].some((each) => each.toLowerCase().includes(wanted)));
  return (
    <>
      <SectionTabs />
      <div className="page-head">
        <h1>{words.title}</h1>
        <div className="tools">
          <input className="input find-here" type="search" aria-label={words.find} placeholder={words.find} value={text} onChange={(event) => setText(event.target.value)} />
          <Segments<Which> label={words.which} value={which} choices={CHOICES.map((choice) => [choice, words.choices[choice]])} choose={(choice) => setAddress(choice === "all" ? {} : { which: choice }, { replace: true })} />
          <AddButton />
          <Link className="button primary" to="/images/new">
            <Box />
            {words.build}
          </Link>
        </div>
      </div>
      {asked.error !== null && found === undefined && <Problem error={asked.error} retry={() => void asked.refetch()} />}
      {found === undefined ? (
        asked.error === null && (
          <div className="images" aria-busy="true">
            <div className="card image" />
            <div className="card image" />
          </div>
        )
      ) : (
        <div className={away ? "stack stale" : "stack"}>
          <News list={found} />
          <Figures list={found} />
          {found.length === 0 ? (
            <div className="card empty">
              <b>{words.emptyTitle}</b>
              <p className="empty-words">{words.empty}</p>
            </div>
          ) : shown.length === 0 ? (
            <div className="card empty"><p>{words.none}</p></div>
          ) : (
            <div className="images">{shown.map((image) => <Card key={image.id} image={image} />)}</div>
          )}
          <RegistryCard />
        </div>
      )}
    </>
  );
}

function News({ list }: { list: Image[] }) {
  const words = useImageWords();
  const me = useMe();
  const mine = list.filter((image) => image.owner === me.user && image.decided_by !== "" && image.decided_by !== me.user && isNews(image.proposal === "accepted", image.decided_at));
  return <Decisions list={mine.map((image) => ({ key: image.id, accepted: image.proposal === "accepted", words: words.news[image.proposal]?.(image.decided_by, image.name) ?? image.name, why: image.proposal_note, at: image.decided_at }))} />;
}

function Figures({ list }: { list: Image[] }) {
  const words = useImageWords().figures;
  const me = useMe();
  const own = list.filter((image) => isOf(image, "own", me));
  const proposed = list.filter((image) => image.proposal === "proposed" && (me.role === "admin" || image.owner === me.user));
  return (
    <div className="card figures even">
      <Figure label={words.all} value={list.length} note={words.ready(list.filter((image) => image.ready).length)} />
      <Figure label={words.own} value={own.length} note={words.ownNote(size(own.reduce((sum, image) => sum + image.size, 0)))} />
      <Figure label={words.ok} value={list.filter((image) => image.verified === "ok").length} note={words.okNote(list.filter((image) => image.verified === "unverified").length)} />
      <Figure label={words.proposed} value={proposed.length} note={me.role === "admin" ? words.proposedAdmin : words.proposedMine} />
    </div>
  );
}
