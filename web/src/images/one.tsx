import { useEffect } from "react";
import { Link, useParams } from "react-router";
import { useMe } from "../api/session";
import { useStatus } from "../api/stream";
import "../environments/environments.css";
import { useSaid, useWords } from "../i18n";
import { useImageWords } from "../i18n/images";
import { CopyButton } from "../ui/copy";
import { Clock, Cross, Question, Tick } from "../ui/icons";
import { DataTable, Section, type Column } from "../ui/manage";
import { Problem } from "../ui/problem";
import { SectionTabs } from "../ui/section-tabs";
import { clock } from "../ui/time";
import { refPath, size } from "../ui/values";
import { Decide, Describe, Propose, Pull, Remove, Verify } from "./acts";
import { mayOf, useImage, type Detail } from "./asks";
import { environmentWith, jobWith, useFacts } from "./card";
import "./images.css";
import { Inside, Layers } from "./inside";
import { Sharing } from "./share";
import { Verified } from "./verdict";

export default function ImagePage() {
  const { id = "" } = useParams();
  const words = useWords();
  const asked = useImage(id);
  const away = useStatus() === "away";
  const found = asked.data;
  useEffect(() => {
    document.title = `${found?.name ?? ""} · ${words.name}`;
  }, [found, words]);
  return (
    <>
      <SectionTabs />
      {found !== undefined ? (
        <div className={away ? "stale" : undefined}><Shown image={found} /></div>
      ) : asked.error !== null ? (
        <Problem error={asked.error} retry={() => void asked.refetch()} />
      ) : (
        <div aria-busy="true" className="card" style={{ minHeight: 420 }} />
      )}
    </>
  );
}

/** Its owner reads here what the admins have answered. */
const decided = (image: Detail) => image.proposal === "accepted" || image.proposal === "rejected";

function Shown({ image }: { image: Detail }) {
  const words = useImageWords();
  const { time } = useWords();
  const me = useMe();
  const may = mayOf(image, me);
  const facts = useFacts();
  return (
    <>
      <div className="page-head">
        <div className="job-title grow">
          <h1 className="mono breakable">{image.name}</h1>
          <Verified image={image} />
          {image.ready && <span className="badge">{words.ready}</span>}
          {image.proposal !== "" && <span className={image.proposal === "proposed" ? "badge wait" : "badge"}>{words.proposal[image.proposal] ?? image.proposal}</span>}
          <div className="note breakable">{facts(image).join(" · ")}</div>
        </div>
        <div className="tools">
          <CopyButton text={image.name} name={words.copyName} done={words.copied} label={`${words.copyName}: ${image.name}`} />
          <Link className="button small" to={environmentWith(image.name)}>{words.useEnvironment}</Link>
          <Link className="button primary" to={jobWith(image.name)}>{words.use}</Link>
        </div>
      </div>
      {decided(image) && <p className="note breakable lines">{words.answered(image.decided_by, words.proposal[image.proposal] ?? "", image.decided_at === null ? "" : clock(image.decided_at, time), image.proposal_note)}</p>}
      {image.description !== "" && <p className="card body-text breakable lines">{image.description}</p>}
      <div className="row wrap image-acts">
        {may.decide && <Decide image={image} />}
        <Verify image={image} />
        {may.pull && <Pull image={image} />}
        {may.change && <Describe image={image} />}
        {may.propose && <Propose image={image} />}
        {may.change && <Remove image={image} />}
      </div>
      <div className="image-grid">
        <div className="stack">
          <Inside image={image} />
          {image.inside !== null && <Layers history={image.inside.history} />}
        </div>
        <div className="stack">
          <Checks image={image} />
          <Nodes image={image} />
          {may.share && (
            <Section title={words.share.heading}>
              <div className="body"><Sharing image={image} /></div>
            </Section>
          )}
        </div>
      </div>
    </>
  );
}

const LOOKS: Record<string, [typeof Tick, string]> = { ok: [Tick, "go"], present: [Tick, "go"], failed: [Cross, "bad"], running: [Clock, "wait"], pulling: [Clock, "wait"] };

function Mark({ state, name }: { state: string; name: string }) {
  const [Icon, tone] = LOOKS[state] ?? [Question, ""];
  return (
    <span className={`badge ${tone}`}>
      <Icon size={13} />
      {name}
    </span>
  );
}

function Checks({ image }: { image: Detail }) {
  const words = useImageWords();
  const { time } = useWords();
  const said = useSaid();
  const columns: Column<Detail["checks"][number]>[] = [
    { title: words.check, cell: (one) => words.checks[one.check] ?? one.check },
    {
      title: words.result,
      cell: (one) => (
        <>
          <Mark state={one.result} name={words.results[one.result] ?? one.result} />
          {said(one, "detail") !== "" && <div className="note breakable">{said(one, "detail")}</div>}
        </>
      ),
    },
    { title: words.when, kind: "wide-only", cell: (one) => clock(one.at, time) },
    { title: words.job, kind: "wide-only", cell: (one) => one.job !== "" && <Link to={`/jobs/${refPath(one.job)}`}>{one.job}</Link> },
  ];
  return (
    <Section title={words.tried}>
      <DataTable rows={image.checks} columns={columns} keyOf={(one) => `${one.check} ${one.digest} ${one.at}`} none={words.triedNone} />
    </Section>
  );
}

function Nodes({ image }: { image: Detail }) {
  const words = useImageWords();
  const said = useSaid();
  const columns: Column<Detail["nodes"][number]>[] = [
    { title: words.node, cell: (one) => one.node },
    { title: words.state, cell: (one) => <Mark state={one.state} name={words.nodeStates[one.state] ?? one.state} /> },
    {
      title: words.detail,
      cell: (one) => (
        <>
          {one.state === "pulling" && one.total > 0 && <span className="note">{size(one.done)} / {size(one.total)} </span>}
          <span className={one.state === "failed" ? "problem breakable" : "note breakable"}>{said(one, "detail")}</span>
        </>
      ),
    },
  ];
  return (
    <Section title={words.nodes}>
      <DataTable rows={image.nodes} columns={columns} keyOf={(one) => one.node} none="—" />
    </Section>
  );
}
