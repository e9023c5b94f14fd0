import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { Link } from "react-router";
import { api, got, type Schemas } from "../api/client";
import { useMe } from "../api/session";
import { addressOf } from "../files/paths";
import { useSaid, useWords } from "../i18n";
import { useDataWords } from "../i18n/data";
import "../map/map.css";
import { Tick, Warn } from "../ui/icons";
import { AskingButton, DataTable, Figure, Section, Wrong, type Column } from "../ui/manage";
import { Problem } from "../ui/problem";
import { SectionTabs } from "../ui/section-tabs";
import { clock } from "../ui/time";
import { size } from "../ui/values";
import "./disks.css";

type Report = Schemas["DiskReport"];
type Disk = Schemas["Disk"];
type Cleaning = Schemas["Cleaning"];
type Cleanable = Schemas["Cleanable"];
type OwnUse = Schemas["OwnUse"];

const AGAIN = 30_000;
const SHOWN = 8; // users of a disk

const useDisks = () => useQuery({ queryKey: ["disks"], queryFn: () => got(api.GET("/danlu/v1/disks")), refetchInterval: AGAIN });

export default function DisksPage() {
  const { name: site } = useWords();
  const words = useDataWords().disks;
  useEffect(() => {
    document.title = `${words.title} · ${site}`;
  }, [words, site]);
  return (
    <>
      <SectionTabs />
      <div className="page-head"><h1>{words.title}</h1></div>
      <Disks />
    </>
  );
}

/** Who uses what: one's own folders, and for admins every disk. */
export function Disks() {
  const me = useMe();
  const asked = useDisks();
  const found = asked.data;
  if (asked.error !== null && found === undefined) return <Problem error={asked.error} retry={() => void asked.refetch()} />;
  if (found === undefined) return <div className="card" aria-busy="true" style={{ minHeight: 240 }} />;
  const admin = me.role === "admin";
  return (
    <div className="stack">
      {admin && <Figures report={found} />}
      {admin && (
        <div className="disks">
          {[...found.disks].sort((a, b) => b.used_percent - a.used_percent).map((disk) => <DiskCard key={`${disk.node} ${disk.id}`} disk={disk} />)}
        </div>
      )}
      {admin && <Clean report={found} />}
      <Own own={found.own} />
    </div>
  );
}

function Figures({ report }: { report: Report }) {
  const words = useDataWords().disks.figures;
  const { time } = useWords();
  const worst = [...report.disks].sort((a, b) => b.used_percent - a.used_percent)[0];
  const [free = "—", unit] = size(report.disks.reduce((sum, disk) => sum + disk.free, 0)).split(" ");
  const alerts = report.disks.filter((disk) => disk.level !== "ok").length;
  const last = report.last_cleaning;
  const [freed = "", freedUnit] = last === null ? [words.never, ""] : size(last.bytes).split(" ");
  return (
    <div className="card figures even">
      <Figure label={words.worst} value={worst === undefined ? "—" : Math.round(worst.used_percent)} unit="%" tone={toneOf(worst?.level ?? "ok")} note={worst?.places.map((place) => place.path).join(", ")} />
      <Figure label={words.free} value={free} unit={unit} />
      <Figure label={words.alerts} value={alerts} tone={alerts > 0 ? "warn" : undefined} note={words.alertsNote} />
      <Figure label={words.freed} value={freed} unit={freedUnit} note={last === null ? (report.next_cleaning === null ? "" : words.next(clock(report.next_cleaning, time))) : words.freedNote(clock(last.at, time))} />
    </div>
  );
}

const toneOf = (level: string) => (level === "ok" ? undefined : level === "warning" ? "warn" : "bad");

function DiskCard({ disk }: { disk: Disk }) {
  const words = useDataWords().disks;
  const { time } = useWords();
  const said = useSaid();
  const tone = toneOf(disk.level);
  const largest = Math.max(1, ...disk.uses.map((use) => use.bytes));
  const detail = said(disk, "detail");
  const title = disk.places.map((place) => (place.kind === "volume" ? `${words.places["volume"]} ${place.name}` : (words.places[place.kind] ?? place.kind))).join(" · ");
  return (
    <section className="card disk" aria-label={title}>
      <div className="head">
        <div className="grow">
          <h2 className="breakable">{title}</h2>
          <p className="note breakable">{disk.node || words.server} · {disk.places.map((place) => place.path).join(", ")}</p>
        </div>
        <span className={`badge ${tone ?? "go"}`}>
          {tone === undefined ? <Tick size={13} /> : <Warn size={13} />}
          {words.levels[disk.level] ?? disk.level}
        </span>
      </div>
      <div className="body stack">
        {detail !== "" ? (
          <p className="problem breakable">{words.away}: {detail}</p>
        ) : (
          <div>
            <p className="sentence">{Math.round(disk.used_percent)} % <span className="note">{words.free(size(disk.free), size(disk.size))}</span></p>
            <div className={`meter level ${tone ?? ""}`}><i style={{ width: `${Math.min(100, disk.used_percent)}%` }} /></div>
            <p className="note">
              {[disk.since !== null && words.since(clock(disk.since, time)), disk.full_at === null ? words.steady : words.fullAt(clock(disk.full_at, time))].filter(Boolean).join(" · ")}
            </p>
          </div>
        )}
        <div>
          <h3>{words.uses}</h3>
          {disk.uses.length === 0 && <p className="note">{words.noUses}</p>}
          <ul className="uses">
            {disk.uses.slice(0, SHOWN).map((use) => (
              <li key={`${use.kind} ${use.name}`}>
                <span className="cut" title={use.name}>{use.name !== use.kind && use.name} <span className={use.name === use.kind ? "" : "note"}>{words.kinds[use.kind] ?? use.kind}</span></span>
                <span className="meter"><i style={{ width: `${(100 * use.bytes) / largest}%` }} /></span>
                <span className="num" title={clock(use.counted_at, time)}>{size(use.bytes)}</span>
              </li>
            ))}
          </ul>
          {disk.uses.length > SHOWN && <p className="note">{words.more(disk.uses.length - SHOWN)}</p>}
        </div>
      </div>
    </section>
  );
}

function Clean({ report }: { report: Report }) {
  const words = useDataWords().disks;
  const { time } = useWords();
  const queries = useQueryClient();
  const run = (dry: boolean) => got(api.POST("/danlu/v1/disks/clean", { body: { dry_run: dry, rules: [] } }));
  const trial = useMutation({ mutationFn: () => run(true) });
  const real = useMutation({
    mutationFn: () => run(false),
    onSuccess: () => {
      trial.reset();
      void queries.invalidateQueries({ queryKey: ["disks"] });
    },
  });
  const shown: Cleaning | undefined = trial.data ?? real.data;
  const last = report.last_cleaning;
  const note = [words.cleanNote, last !== null && `${words.lastCleaning(clock(last.at, time), last.by)}.`, report.next_cleaning !== null && words.next(clock(report.next_cleaning, time))].filter(Boolean).join(" ");
  return (
    <Section
      title={words.clean}
      note={note}
      tools={
        <>
          <button className="button small" disabled={trial.isPending} onClick={() => trial.mutate()}>{words.dryRun}</button>
          {trial.data !== undefined && trial.data.items.length > 0 && (
            <AskingButton name={words.doClean} of={words.title} body={words.cleanAsk(size(trial.data.bytes))} act={() => real.mutateAsync()} />
          )}
        </>
      }
    >
      <Wrong error={trial.error ?? real.error} />
      {shown !== undefined && (
        <>
          <p className="none sentence" role="status">
            {shown.items.length === 0 ? words.nothing : shown.dry_run ? words.would(size(shown.bytes), shown.items.length) : words.did(size(shown.bytes), shown.items.filter((item) => item.removed).length)}
          </p>
          {shown.items.length > 0 && <Items cleaning={shown} />}
        </>
      )}
    </Section>
  );
}

function Items({ cleaning }: { cleaning: Cleaning }) {
  const words = useDataWords().disks;
  const { time } = useWords();
  const said = useSaid();
  const columns: Column<Cleanable>[] = [
    { title: words.rule, cell: (item) => words.rules[item.rule] ?? item.rule },
    { title: words.name, cell: (item) => <span className="breakable">{item.name}</span> },
    { title: words.size, kind: "num", cell: (item) => size(item.bytes) },
    { title: words.used, kind: "wide-only", cell: (item) => (item.used_at === null ? words.never : clock(item.used_at, time)) },
    ...(cleaning.dry_run ? [] : [{ title: words.gone, kind: "wide-only", cell: (item: Cleanable) => (item.removed ? words.gone : `${words.kept} ${said(item, "detail")}`) }]),
  ];
  return <DataTable rows={cleaning.items} columns={columns} keyOf={(item) => `${item.rule} ${item.disk} ${item.name}`} none={words.nothing} />;
}

function Own({ own }: { own: OwnUse[] }) {
  const words = useDataWords().disks;
  const { time } = useWords();
  const columns: Column<OwnUse>[] = [
    {
      title: words.place,
      cell: (use) => (
        <>
          {use.path !== "" && <Link className="breakable" to={addressOf(use.path)}>{use.path}</Link>}{" "}
          <span className="note">{words.kinds[use.kind] ?? use.kind}</span>
        </>
      ),
    },
    { title: words.size, kind: "num", cell: (use) => (use.bytes === null ? words.notCounted : size(use.bytes)) },
    { title: words.files, kind: "num wide-only", cell: (use) => use.files?.toLocaleString() ?? "—" },
    { title: words.counted, kind: "wide-only", cell: (use) => (use.counted_at === null ? "—" : clock(use.counted_at, time)) },
  ];
  return (
    <Section title={words.own} note={words.ownNote}>
      <DataTable rows={own} columns={columns} keyOf={(use) => `${use.kind} ${use.path} ${use.name}`} none={words.ownNone} />
    </Section>
  );
}
