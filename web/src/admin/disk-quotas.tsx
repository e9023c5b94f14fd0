import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { api, got, type Schemas } from "../api/client";
import { useWords } from "../i18n";
import { useManageWords } from "../i18n/manage";
import { AskingButton, DataTable, Field, SaveOrCancel, Section, Wrong } from "../ui/manage";
import { Sheet } from "../ui/sheet";
import { clock } from "../ui/time";
import { size, writtenBytes } from "../ui/values";
import "../disks/disks.css";

type Quota = Schemas["FolderQuotaView"];
type Of = "user" | "group";

const EVERYBODY = "*";
const FINDING = 12; // rows from which on there is a box to find one

/** Who keeps how much in their folders, and how much they may. */
export function DiskQuotas() {
  const all = useManageWords();
  const words = all.disk;
  const queries = useQueryClient();
  const again = () => void queries.invalidateQueries({ queryKey: ["disk-quotas"] });
  const asked = useQuery({ queryKey: ["disk-quotas"], queryFn: () => got(api.GET("/danlu/v1/disks/quotas", { params: { query: { everyone: true } } })) });
  const [edited, setEdited] = useState<Quota | null>(null);
  const [text, setText] = useState("");
  const named = useNamed();
  const rows = asked.data === undefined ? undefined : ordered(asked.data.quotas);
  const shown = rows?.filter((one) => one.name === EVERYBODY || one.name.includes(text.trim()));
  const counted = rows?.filter((one) => one.used !== null) ?? [];
  return (
    <Section
      title={words.title}
      note={words.note}
      tools={
        <>
          {counted.length > 0 && <span className="note">{words.sum(size(counted.reduce((sum, one) => sum + (one.used ?? 0), 0)), counted.length)}</span>}
          {(rows?.length ?? 0) > FINDING && <input className="input" type="search" aria-label={words.find} placeholder={words.find} value={text} onChange={(event) => setText(event.target.value)} />}
        </>
      }
    >
      <Wrong error={asked.error} />
      <DataTable
        rows={shown}
        keyOf={(one) => `${one.of} ${one.name}`}
        none={text === "" ? words.none : words.nobody}
        columns={[
          { title: words.whose, cell: (one) => <span className="breakable">{named(one)}</span> },
          { title: words.used, kind: "num", cell: (one) => <Used quota={one} /> },
          { title: words.limit, kind: "num", cell: (one) => <Limit quota={one} /> },
          {
            title: words.change,
            kind: "acts",
            cell: (one) => (
              <>
                <button className="button small" aria-label={all.titled(one.own ? words.change : words.set, named(one))} onClick={() => setEdited(one)}>{one.own ? words.change : words.set}</button>
                {one.own && (
                  <AskingButton
                    name={one.name === EVERYBODY ? words.backAll : words.back}
                    of={named(one)}
                    body={(one.name === EVERYBODY ? words.backAllAsk : words.backAsk)(named(one))}
                    act={() => got(api.DELETE("/danlu/v1/disks/quotas/{of}/{name}", { params: { path: { of: one.of as Of, name: one.name } } }))}
                    then={again}
                  />
                )}
              </>
            ),
          },
        ]}
      />
      {edited !== null && <Edit quota={edited} again={again} close={() => setEdited(null)} />}
    </Section>
  );
}

/** Everyone else first, then who uses most; groups after users. */
function ordered(quotas: Quota[]): Quota[] {
  const missing = (["user", "group"] as const)
    .filter((of) => !quotas.some((one) => one.of === of && one.name === EVERYBODY))
    .map((of): Quota => ({ of, name: EVERYBODY, size: null, used: null, counted_at: null, own: false }));
  const rank = (one: Quota) => (one.name === EVERYBODY ? 0 : one.of === "user" ? 1 : 2);
  return [...missing, ...quotas].sort((a, b) => rank(a) - rank(b) || b.of.localeCompare(a.of) || (b.used ?? -1) - (a.used ?? -1) || a.name.localeCompare(b.name));
}

function useNamed() {
  const all = useManageWords();
  return ({ of, name }: Quota) => (name === EVERYBODY ? (of === "user" ? all.disk.everyUser : all.disk.everyGroup) : all.quota.of(of, name));
}

const isOver = (one: Quota) => one.size !== null && one.used !== null && one.used > one.size;

function Used({ quota }: { quota: Quota }) {
  const words = useManageWords().disk;
  const { time } = useWords();
  if (quota.name === EVERYBODY) return "—";
  if (quota.used === null) return <span className="note">{words.notCounted}</span>;
  const share = quota.size === null ? null : quota.size === 0 ? 100 : Math.min(100, (100 * quota.used) / quota.size);
  const tone = share === null || share < 90 ? "" : isOver(quota) ? "bad" : "warn";
  return (
    <span title={quota.counted_at === null ? undefined : words.counted(clock(quota.counted_at, time))}>
      {size(quota.used)}
      {share !== null && <span className={`meter level quota-meter ${tone}`}><i style={{ width: `${share}%` }} /></span>}
      {isOver(quota) && <small className="problem">{words.over}</small>}
    </span>
  );
}

function Limit({ quota }: { quota: Quota }) {
  const words = useManageWords().disk;
  if (quota.size === null) return <span className="note">{words.unlimited}</span>;
  if (quota.own || quota.name === EVERYBODY) return size(quota.size);
  return (
    <span className="note">
      {size(quota.size)}
      <br />
      {words.common}
    </span>
  );
}

function Edit({ quota, again, close }: { quota: Quota; again: () => void; close: () => void }) {
  const all = useManageWords();
  const words = all.disk;
  const named = useNamed();
  const going = useMutation({
    mutationFn: (form: FormData) =>
      got(
        api.PUT("/danlu/v1/disks/quotas/{of}/{name}", {
          params: { path: { of: quota.of as Of, name: quota.name } },
          body: { size: String(form.get("size")).trim() || null },
        }),
      ),
    onSuccess: () => {
      again();
      close();
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    going.mutate(new FormData(event.currentTarget));
  };
  return (
    <Sheet title={all.titled(words.title, named(quota))} close={close}>
      <form className="stack" onSubmit={submit}>
        <Field label={words.size} hint={words.sizeHint}>
          <input className="input" name="size" maxLength={64} autoFocus placeholder="500G" defaultValue={quota.own && quota.size !== null ? writtenBytes(quota.size) : ""} />
        </Field>
        <SaveOrCancel going={going} close={close} />
      </form>
    </Sheet>
  );
}
