import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, got, type Schemas } from "../api/client";
import { useWords } from "../i18n";
import { amount } from "../ui/values";
import { has, type Picture } from "./model";
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

/** The numbers a tired person needs. */
export function Strip({ picture, me, open }: { picture: Picture; me: string | null; open: ((list: List) => void) | null }) {
  const words = useWords().map;
  const waiting = useWaiting();
  const { totals, largest, models } = picture;
  const quotas = useQuery({ queryKey: ["quotas"], queryFn: () => got(api.GET("/danlu/v1/quotas")), enabled: me !== null });
  const { own, group } = binding(quotas.data?.quotas ?? [], me ?? "");
  const limit = own?.gpus ?? null;
  const out = picture.rows.filter((row) => row.node.drained || has(row, "drained", "down", "silent"));
  const busy = out.filter((row) => row.node.drained).reduce((sum, row) => sum + row.cells.filter((cell) => cell.gpu.state === "used").length, 0);
  const idle = picture.rows.flatMap((row) => (has(row, "idle") ? row.blocks.filter((block) => block.kind === "idle") : []));
  const parts =
    models.length > 1
      ? models.map(({ model, totals: each }) => `${model} ${amount(each.free)}`)
      : largest.free > 0
        ? [words.largest(largest.free, largest.node)]
        : [words.nothingFree];
  if (models.length > 1 && largest.free > 0) parts.push(words.largest(largest.free, largest.node));
  if (totals.reserved > 0) parts.push(words.reserved(totals.reserved));
  return (
    <section className={`card figures ${me === null ? "four" : ""}`} aria-label={words.title}>
      <div className="figure" data-figure="free">
        <Label title={words.freeTitle} open={open && (() => open("free"))} />
        <div className="number">
          <b className={totals.free > 0 ? "go" : ""}>{amount(totals.free)}</b>/ {totals.total}
        </div>
        <div className="note">
          {parts.join(" · ")}
          {totals.outside > 0 && ` · ${words.outsideCount(totals.outside)}`}
        </div>
      </div>
      <div className="figure" data-figure="waiting">
        <Label title={words.waitingTitle} open={open && (() => open("waiting"))} />
        <div className="number">
          <b>{waiting.data?.waiting ?? "…"}</b>
          {words.jobs(waiting.data?.waiting ?? 0)}
        </div>
        <div className="note">{words.taken(amount(totals.used), totals.total)}</div>
      </div>
      {me !== null && (
        <div className="figure" data-figure="quota">
          <Label title={words.quotaTitle} to="/jobs?ended=no" />
          <div className="number">
            <b className={picture.mine > 0 ? "ember" : ""}>{picture.mine}</b>
            {limit === null ? words.noQuota : words.quotaOf(amount(limit))}
          </div>
          {limit === null ? (
            <div className="note">{group === null ? words.noQuotaNote : words.groupQuota(group.name, amount(group.used_gpus), amount(group.gpus ?? 0))}</div>
          ) : (
            <div className="meter ember" title={words.quotaLeft(limit - picture.mine)}>
              <i style={{ width: `${Math.min(100, (100 * picture.mine) / Math.max(limit, 1))}%` }} />
            </div>
          )}
        </div>
      )}
      <div className="figure" data-figure="idle">
        <Label title={words.idleTitle} open={open && (() => open("idle"))} />
        <div className="number">
          <b className={totals.idle > 0 ? "warn" : ""}>{totals.idle}</b>
          {words.gpuWord(totals.idle)}
        </div>
        <div className="note cut">
          {idle.length === 0 ? words.idleNone : idle.slice(0, 3).map((block) => block.job).join(", ") + (idle.length > 3 ? " …" : "")}
        </div>
      </div>
      <div className="figure" data-figure="out">
        <Label title={words.outTitle} open={open && (() => open("out"))} />
        <div className="number">
          <b className={totals.out + busy > 0 ? "warn" : ""}>{amount(totals.out + busy)}</b>
          {words.gpuWord(totals.out + busy)}
        </div>
        <div className="note cut">
          {out.length === 0 ? words.outNone : words.outOn(out.slice(0, 4).map((row) => row.node.name).join(", ") + (out.length > 4 ? " …" : ""), busy)}
        </div>
      </div>
    </section>
  );
}

/** Opens the list behind a figure; all of the figure can be pressed. Nothing opens on a wall. */
function Label({ title, open, to }: { title: string; open?: (() => void) | null; to?: string }) {
  const words = useWords().map;
  if (to !== undefined) return <Link className="label opens" to={to} aria-label={words.opens(title)}>{title}</Link>;
  if (open == null) return <div className="label">{title}</div>;
  return <button className="label opens" aria-label={words.opens(title)} onClick={open}>{title}</button>;
}
