import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, got, type Schemas } from "../api/client";
import { useWords } from "../i18n";
import { amount } from "../ui/values";
import { usePart } from "./live";
import { has } from "./model";
import { useWaiting } from "./side";

export type List = "free" | "waiting" | "idle" | "out";

type Quota = Schemas["QuotaView"];

/** The person's own quota, and of their groups' the one with least left: either may bind. */
export function binding(quotas: Quota[], me: string): { own: Quota | null; group: Quota | null } {
  const users = quotas.filter((quota) => quota.of === "user");
  const own = users.find((quota) => quota.name === me) ?? users.find((quota) => quota.name === "*") ?? null;
  const left = (quota: Quota) => (quota.gpus ?? Infinity) - quota.used_gpus;
  const groups = quotas.filter((quota) => quota.of === "group" && quota.name !== "*" && quota.gpus !== null);
  const group = groups.reduce<Quota | null>((least, quota) => (least === null || left(quota) < left(least) ? quota : least), null);
  return { own, group };
}

interface Props {
  viewer: string;
  me: string | null;
  open: ((list: List) => void) | null;
}

/** The numbers a tired person needs. Each follows its own part of the map. */
export function Strip({ viewer, me, open }: Props) {
  const words = useWords().map;
  const opens = (list: List) => open && (() => open(list));
  return (
    <section className={`card figures ${me === null ? "four" : ""}`} aria-label={words.title}>
      <div className="figure" data-figure="free">
        <Label title={words.freeTitle} open={opens("free")} />
        <Free viewer={viewer} />
      </div>
      <div className="figure" data-figure="waiting">
        <Label title={words.waitingTitle} open={opens("waiting")} />
        <Waiting />
        <Taken viewer={viewer} />
      </div>
      {me !== null && (
        <div className="figure" data-figure="quota">
          <Label title={words.quotaTitle} to="/jobs?ended=no" />
          <Quotas me={me} />
        </div>
      )}
      <div className="figure" data-figure="idle">
        <Label title={words.idleTitle} open={opens("idle")} />
        <Idle viewer={viewer} />
      </div>
      <div className="figure" data-figure="out">
        <Label title={words.outTitle} open={opens("out")} />
        <Out viewer={viewer} />
      </div>
    </section>
  );
}

function Free({ viewer }: { viewer: string }) {
  const words = useWords().map;
  const free = usePart(viewer, (picture) => picture?.totals.free ?? 0);
  const total = usePart(viewer, (picture) => picture?.totals.total ?? 0);
  const note = usePart(viewer, (picture) => {
    if (picture === null) return "";
    const { totals, largest, models } = picture;
    const parts = models.length > 1 ? models.map(({ model, totals: each }) => `${model} ${amount(each.free)}`) : [];
    if (largest.free > 0) parts.push(words.largest(largest.free, largest.node));
    else if (parts.length === 0) parts.push(words.nothingFree);
    if (totals.reserved > 0) parts.push(words.reserved(totals.reserved));
    if (totals.outside > 0) parts.push(words.outsideCount(totals.outside));
    return parts.join(" · ");
  });
  return (
    <>
      <div className="number">
        <b className={free > 0 ? "go" : ""}>{amount(free)}</b>/ {total}
      </div>
      <div className="note">{note}</div>
    </>
  );
}

function Waiting() {
  const words = useWords().map;
  const waiting = useWaiting().data?.waiting;
  return (
    <div className="number">
      <b>{waiting ?? "…"}</b>
      {words.jobs(waiting ?? 0)}
    </div>
  );
}

function Taken({ viewer }: { viewer: string }) {
  const words = useWords().map;
  return <div className="note">{usePart(viewer, (picture) => picture && words.taken(amount(picture.totals.used), picture.totals.total))}</div>;
}

function Quotas({ me }: { me: string }) {
  const words = useWords().map;
  const mine = usePart(me, (picture) => picture?.mine ?? 0);
  const quotas = useQuery({ queryKey: ["quotas"], queryFn: () => got(api.GET("/danlu/v1/quotas")) });
  const { own, group } = binding(quotas.data?.quotas ?? [], me);
  const limit = own?.gpus ?? null;
  return (
    <>
      <div className="number">
        <b className={mine > 0 ? "ember" : ""}>{mine}</b>
        {limit === null ? words.noQuota : words.quotaOf(amount(limit))}
      </div>
      {limit === null ? (
        <div className="note">{group === null ? words.noQuotaNote : words.groupQuota(group.name, amount(group.used_gpus), amount(group.gpus ?? 0))}</div>
      ) : (
        <div className="meter ember" title={words.quotaLeft(limit - mine)}>
          <i style={{ width: `${Math.min(100, (100 * mine) / Math.max(limit, 1))}%` }} />
        </div>
      )}
    </>
  );
}

function Idle({ viewer }: { viewer: string }) {
  const words = useWords().map;
  const count = usePart(viewer, (picture) => picture?.totals.idle ?? 0);
  const jobs = usePart(viewer, (picture) => {
    if (picture === null || !has(picture, "idle")) return "";
    const blocks = picture.rows.flatMap((row) => (has(row, "idle") ? row.blocks.filter((block) => block.kind === "idle") : []));
    return cut(blocks.map((block) => block.job ?? ""), 3);
  });
  return (
    <>
      <div className="number">
        <b className={count > 0 ? "warn" : ""}>{count}</b>
        {words.gpuWord(count)}
      </div>
      <div className="note cut">{jobs || words.idleNone}</div>
    </>
  );
}

function Out({ viewer }: { viewer: string }) {
  const words = useWords().map;
  const out = usePart(viewer, (picture) => picture?.totals.out ?? 0);
  // Drained nodes whose jobs go on are not counted as out, but are on their way.
  const busy = usePart(viewer, (picture) => picture?.rows.reduce((sum, row) => sum + (row.node.drained ? row.totals.used : 0), 0) ?? 0);
  const nodes = usePart(viewer, (picture) => cut(picture?.rows.filter((row) => row.node.drained || has(row, "drained", "down", "silent")).map((row) => row.node.name) ?? [], 4));
  return (
    <>
      <div className="number">
        <b className={out + busy > 0 ? "warn" : ""}>{amount(out + busy)}</b>
        {words.gpuWord(out + busy)}
      </div>
      <div className="note cut">{nodes === "" ? words.outNone : words.outOn(nodes, busy)}</div>
    </>
  );
}

const cut = (names: string[], most: number) => names.slice(0, most).join(", ") + (names.length > most ? " …" : "");

/** Opens the list behind a figure; all of the figure can be pressed. Nothing opens on a wall. */
function Label({ title, open, to }: { title: string; open?: (() => void) | null; to?: string }) {
  const words = useWords().map;
  if (to !== undefined) return <Link className="label opens" to={to} aria-label={words.opens(title)}>{title}</Link>;
  if (open == null) return <div className="label">{title}</div>;
  return <button className="label opens" aria-label={words.opens(title)} onClick={open}>{title}</button>;
}
