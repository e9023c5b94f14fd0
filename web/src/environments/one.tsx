import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useState } from "react";
import { Link, useParams, useSearchParams } from "react-router";
import { api, got } from "../api/client";
import { useMe } from "../api/session";
import { useStatus } from "../api/stream";
import { Ports } from "../doors/ports";
import { useSaid, useWords } from "../i18n";
import { useEnvironmentWords } from "../i18n/environments";
import { SaveButton } from "../images/save-button";
import { Steps } from "../job/steps";
import { openBefore } from "../job/terminal-names";
import { History, WhyPanel } from "../job/why";
import { Cross, Square } from "../ui/icons";
import { Section } from "../ui/manage";
import { useNow } from "../ui/now";
import { Problem } from "../ui/problem";
import { StateBadge } from "../ui/state";
import { refPath } from "../ui/values";
import { DeleteButton, DropGpus, StartButton, StopButton } from "./acts";
import { isActive, mayOf, refOf, shownName, useEnvironment, type Environment } from "./asks";
import { Ended, stated, useFacts } from "./card";
import { OpenButtons, SshConfig, SshLine, TensorBoard } from "./connect";
import "./environments.css";
import { EndsSoon, Limits } from "./limits";
import { LeaveButton, Sharing } from "./sharing";

const Terminal = lazy(() => import("../job/terminal"));

export default function EnvironmentPage() {
  const { name = "" } = useParams();
  const words = useWords();
  const asked = useEnvironment(name);
  const found = asked.data;
  useEffect(() => {
    document.title = found === undefined ? words.name : `${found.name} · ${words.states[found.state] ?? found.state} · ${words.name}`;
  }, [found, words]);
  if (asked.error !== null && found === undefined) return <Problem error={asked.error} retry={() => void asked.refetch()} />;
  if (found === undefined) return <div aria-busy="true" className="card" style={{ minHeight: 420 }} />;
  return <Shown key={found.id} environment={found} />;
}

function useJob(environment: Environment) {
  const { job } = environment;
  const ref = job?.ref ?? "";
  const path = { path: { ref: job?.id ?? "" } };
  const detail = useQuery({
    queryKey: ["job", ref],
    queryFn: () => got(api.GET("/danlu/v1/jobs/{ref}", { params: path })),
    enabled: job !== null,
  });
  const events = useQuery({
    queryKey: ["job", ref, "events"],
    queryFn: () => got(api.GET("/danlu/v1/jobs/{ref}/events", { params: { ...path, query: { limit: 1000 } } })),
    enabled: job !== null,
  });
  return { detail: detail.data, events: events.data?.events ?? [] };
}

function Shown({ environment }: { environment: Environment }) {
  const me = useMe();
  const away = useStatus() === "away";
  const [address, setAddress] = useSearchParams();
  const { detail, events } = useJob(environment);
  const may = mayOf(environment, me);
  const runs = environment.state === "running";
  const id = environment.job?.id ?? "";
  // Of this start only: the next one has no shell yet.
  const [terminal, setTerminal] = useState(() => (address.has("terminal") || openBefore(id) !== null ? id : ""));
  const closeTerminal = () => {
    setTerminal("");
    setAddress({}, { replace: true });
  };
  return (
    <div className={away ? "stale" : undefined}>
      <Head environment={environment} />
      {detail !== undefined && isActive(environment) && environment.state !== "queued" && <Steps job={detail} events={events} />}
      <EndsSoon environment={environment} own={may.change} />
      {!isActive(environment) && <Stopped environment={environment} />}
      {environment.state === "queued" && detail !== undefined && <WhyPanel job={detail} events={events} />}
      {runs && terminal === id && may.enter && (
        <Suspense fallback={null}>
          <Terminal key={id} id={id} task={0} close={closeTerminal} />
        </Suspense>
      )}
      <div className="environment-grid">
        <div className="stack">
          {(runs || environment.state === "starting") && <Connect environment={environment} terminal={() => setTerminal(id)} />}
          {runs && may.enter && detail !== undefined && <Reach environment={environment} tasks={detail.tasks} />}
          {!runs && <Asks environment={environment} />}
        </div>
        <div className="stack">
          {runs && detail !== undefined && <Limits environment={environment} spec={detail.spec} own={may.change} />}
          {(may.change || environment.shared.length > 0) && <Sharing environment={environment} />}
          {runs && <Asks environment={environment} />}
          {environment.state !== "queued" && events.length > 0 && <History events={events} />}
        </div>
      </div>
    </div>
  );
}

/** Only a container has something to save; without an image it uses the programs of the machine. */
const inContainer = (found: Environment) => found.saved_image !== null || typeof found.request["image"] === "string";

function Head({ environment }: { environment: Environment }) {
  const me = useMe();
  const said = useSaid();
  const now = useNow(1000) / 1000;
  const facts = useFacts();
  const [address] = useSearchParams();
  const may = mayOf(environment, me);
  const doing = said(environment, "doing");
  return (
    <div className="page-head">
      <div className="job-title grow">
        <h1>{shownName(environment, me)}</h1>
        <StateBadge job={stated(environment)} now={now} />
        <div className="note breakable">{[...facts(environment), ...(doing === "" ? [] : [doing])].join(" · ")}</div>
      </div>
      <div className="tools">
        <DropGpus environment={environment} />
        {may.change && environment.state === "running" && inContainer(environment) && <SaveButton of={{ environment: refOf(environment), name: environment.name }} opened={address.has("save")} />}
        {may.change && isActive(environment) && environment.state !== "stopping" && <StopButton environment={environment} />}
        {may.leave && <LeaveButton environment={environment} />}
        {may.change && <DeleteButton environment={environment} />}
      </div>
    </div>
  );
}

function Stopped({ environment }: { environment: Environment }) {
  const words = useEnvironmentWords();
  const said = useSaid();
  const me = useMe();
  const advice = said(environment.job, "advice");
  return (
    <section className={`card end-card ${environment.job?.state ?? ""}`}>
      {environment.job?.state === "failed" ? <Cross size={24} /> : <Square size={24} />}
      <div className="grow">
        <p className="sentence"><Ended environment={environment} /></p>
        {advice !== "" && <p>{advice}</p>}
        <p className="note">{mayOf(environment, me).start ? words.starts : words.onlyOwner(environment.owner)}</p>
        {mayOf(environment, me).start && <div className="row wrap start"><StartButton environment={environment} primary /></div>}
      </div>
    </section>
  );
}

/** The ways in. */
function Connect({ environment, terminal }: { environment: Environment; terminal: () => void }) {
  const words = useEnvironmentWords();
  const me = useMe();
  const runs = environment.state === "running";
  if (!mayOf(environment, me).enter) return <p className="card none">{words.notIn(environment.owner)}</p>;
  return (
    <section className="card" aria-label={words.open}>
      <div className="body">
        <OpenButtons environment={environment} terminal={terminal} primary />
        {!runs && <p className="note">{words.notYet}</p>}
        {runs && <TensorBoard environment={environment} />}
      </div>
    </section>
  );
}

function Reach({ environment, tasks }: { environment: Environment; tasks: { index: number; ports: number[] }[] }) {
  const words = useEnvironmentWords();
  const { doors } = useWords();
  return (
    <>
      <Section title={words.ssh}>
        <div className="body ssh">
          <SshLine environment={environment} />
          <SshConfig environment={environment} />
        </div>
      </Section>
      <Section title={doors.ports}>
        <div className="body">
          <Ports id={environment.job?.id ?? ""} tasks={tasks} nameOf={String} note={words.portsNote} />
        </div>
      </Section>
    </>
  );
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return value.map(shown).join(", ");
  if (typeof value === "object" && value !== null) return Object.entries(value).map(([key, one]) => `${key}=${shown(one)}`).join(", ");
  return String(value);
}

function Asks({ environment }: { environment: Environment }) {
  const words = useEnvironmentWords();
  const { colon } = useWords();
  const { job, request, saved_image: saved } = environment;
  const rows: [string, string][] = [
    ...(saved === null ? [] : [[words.savedImage, saved] as [string, string]]),
    ...Object.entries(request).map(([key, value]): [string, string] => [words.keys[key] ?? key, shown(value)]),
  ];
  return (
    <Section title={words.asks}>
      <div className="body">
        {rows.length === 0 ? (
          <p className="note">{words.defaults}</p>
        ) : (
          <dl className="asks">
            {rows.map(([key, value]) => (
              <div key={key}>
                <dt>{key}</dt>
                <dd className="breakable">{value}</dd>
              </div>
            ))}
          </dl>
        )}
        {job !== null && (
          <p className="note latest">
            {words.job}{colon}<Link className="breakable" to={`/jobs/${refPath(job.ref)}`}>{words.jobLog(job.ref)}</Link>
          </p>
        )}
      </div>
    </Section>
  );
}
