import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { api, got, type Schemas } from "../api/client";
import { useMe } from "../api/session";
import { useWords } from "../i18n";
import { Chart } from "../ui/icons";
import { nameOf, refPath } from "../ui/values";
import { DoorProblem, useDoor } from "./open";

type JobDetail = Schemas["JobDetail"];
const NAME = "TensorBoard";
const LOOK = 1_000; // milliseconds, while it starts
const AGAIN = 60_000; // a running job may write its first event file at any time
const BEFORE = ["queued", "starting"];

const shows = (job: JobDetail) => job.spec["tool"] === "tensorboard";

/** The job that shows the curves, once it runs or has ended. */
async function running(id: string, tell: (ref: string | null) => void): Promise<string> {
  const { job } = await got(api.POST("/danlu/v1/tensorboards", { body: { job: id } }));
  for (;;) {
    const found = await got(api.GET("/danlu/v1/jobs/{ref}", { params: { path: { ref: job.id } } }));
    if (!BEFORE.includes(found.state)) break;
    tell(job.ref);
    await new Promise((over) => setTimeout(over, LOOK));
  }
  tell(null);
  return job.id;
}

/** A button on a job that has written event files, and on TensorBoard's own job. */
export function Curves({ job }: { job: JobDetail }) {
  const own = useMe().user === job.owner;
  const mayHave = own && job.started_at !== null && !shows(job) && job.kind !== "environment";
  const asked = useQuery({
    queryKey: ["curves", job.id, job.state],
    queryFn: () => got(api.GET("/danlu/v1/jobs/{ref}/tensorboard", { params: { path: { ref: job.id } } })),
    enabled: mayHave,
    retry: false,
    refetchInterval: job.state === "running" ? AGAIN : false,
  });
  if (own && shows(job) && job.state === "running") return <Own id={job.id} />;
  if (!mayHave || (asked.data?.folders ?? []).length === 0) return null;
  return <Others id={job.id} folders={asked.data?.folders ?? []} />;
}

function Own({ id }: { id: string }) {
  const words = useWords().doors;
  const door = useDoor(id);
  return (
    <>
      <button className="button primary" disabled={door.busy} onClick={() => door.open({ door: "tensorboard", task: 0 }, NAME)}>
        <Chart />
        {words.openLabel(NAME)}
      </button>
      <DoorProblem door={door} />
    </>
  );
}

function Others({ id, folders }: { id: string; folders: string[] }) {
  const words = useWords().doors;
  const [waits, setWaits] = useState<string | null>(null);
  const door = useDoor(() => running(id, setWaits));
  return (
    <>
      <button className="button" disabled={door.busy} title={folders.join("\n")} onClick={() => door.open({ door: "tensorboard", task: 0 }, NAME)}>
        <Chart />
        {NAME}
      </button>
      {waits !== null && (
        <p className="note" role="status">
          {words.starting(NAME)} <Link to={`/jobs/${refPath(waits)}`}>{nameOf(waits)}</Link>
        </p>
      )}
      <DoorProblem door={door} />
    </>
  );
}
