import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "react-router";
import { api, got } from "../api/client";
import { useMe } from "../api/session";
import { useSaid, useWords } from "../i18n";
import { useEnvironmentWords } from "../i18n/environments";
import { Right } from "../ui/icons";
import { useNow } from "../ui/now";
import { Initials } from "../ui/people";
import { StateBadge } from "../ui/state";
import { clock } from "../ui/time";
import { StartButton } from "./acts";
import { gpusAsked, isActive, mayOf, pathOf, shownName, type Environment } from "./asks";
import { OpenButtons, SshLine } from "./connect";
import { endsSoon, useLeft } from "./limits";

/** What it is made of: GPUs, image, node. */
export function useFacts() {
  const words = useWords();
  const own = useEnvironmentWords();
  return (found: Environment): string[] => {
    const gpus = isActive(found) && found.job !== null ? found.job.gpus : gpusAsked(found);
    const model = isActive(found) ? found.job?.gpu_model : null;
    const image = found.saved_image ?? found.request["image"];
    return [
      gpus > 0 ? `${words.gpus(gpus)}${model ? ` · ${model}` : ""}` : words.job.cpuOnly,
      typeof image === "string" ? image : own.noImage,
      ...(found.state === "running" ? (found.job?.nodes ?? []) : []),
    ];
  };
}

export const stated = (found: Environment) => ({
  state: found.state,
  held: found.job?.held ?? false,
  started_at: found.job?.started_at ?? null,
});

export function Card({ environment }: { environment: Environment }) {
  const me = useMe();
  const now = useNow(1000) / 1000;
  const words = useEnvironmentWords();
  const facts = useFacts();
  const left = useLeft();
  const navigate = useNavigate();
  const { enter, start } = mayOf(environment, me);
  const to = pathOf(environment);
  const runs = environment.state === "running";
  return (
    <article className="card environment">
      <div className="head">
        <div className="grow">
          <h3>
            {environment.owner !== me.user && <Initials name={environment.owner} me={false} />}
            <Link className="breakable" to={to}>{shownName(environment, me)}</Link>
            <StateBadge job={stated(environment)} now={now} />
          </h3>
          <p className="note breakable">{facts(environment).join(" · ")}</p>
        </div>
        <Link className="button small plain" to={to} aria-label={`${words.details}: ${shownName(environment, me)}`}>
          <Right />
        </Link>
      </div>
      <div className="body">
        {environment.state === "queued" && <Waits environment={environment} />}
        {(environment.state === "starting" || environment.state === "stopping") && <Doing environment={environment} />}
        {isActive(environment) && enter && environment.state !== "stopping" && (
          <OpenButtons environment={environment} terminal={() => void navigate(`${to}?terminal=1`)} />
        )}
        {runs && enter && <SshLine environment={environment} />}
        {runs && <p className={endsSoon(environment, now) ? "note soon" : "note"}>{left(environment, now).join(" · ")}</p>}
        {!isActive(environment) && (
          <>
            <p className="note"><Ended environment={environment} /></p>
            {start && <div className="row wrap"><StartButton environment={environment} primary={false} /></div>}
          </>
        )}
      </div>
    </article>
  );
}

/** By what it was stopped, and when. */
export function Ended({ environment }: { environment: Environment }) {
  const words = useEnvironmentWords();
  const { time } = useWords();
  const said = useSaid();
  const { job } = environment;
  if (job === null) return words.never;
  return [said(job, "reason"), job.ended_at !== null && clock(job.ended_at, time)].filter(Boolean).join(" · ");
}

function Doing({ environment }: { environment: Environment }) {
  const said = useSaid();
  const doing = said(environment, "doing");
  return doing === "" ? null : <p className="breakable">{doing}</p>;
}

function Waits({ environment }: { environment: Environment }) {
  const said = useSaid();
  const id = environment.job?.id ?? "";
  const why = useQuery({
    queryKey: ["why", id],
    queryFn: () => got(api.GET("/danlu/v1/jobs/{ref}/why", { params: { path: { ref: id } } })),
    refetchInterval: 30_000,
  });
  return <p>{said(why.data, "sentence")}</p>;
}
