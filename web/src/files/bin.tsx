import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, got } from "../api/client";
import { useWords } from "../i18n";
import { useFileWords } from "../i18n/files";
import { Back, Bin } from "../ui/icons";
import { AskingButton, DataTable, Section, Wrong, type Column } from "../ui/manage";
import { Problem } from "../ui/problem";
import { clock } from "../ui/time";
import { size } from "../ui/values";
import { changed, useBin, useRoots, type BinItem } from "./asks";
import { Kind } from "./kind";
import { follow } from "./operations";
import { parentOf } from "./paths";

export function BinPage() {
  const words = useFileWords();
  const { time } = useWords();
  const queries = useQueryClient();
  const roots = useRoots();
  const asked = useBin();
  const days = roots.data?.bin_days ?? 0;
  const again = () => changed(queries);
  const restore = useMutation({
    mutationFn: async (item: BinItem) => follow(await got(api.POST("/danlu/v1/files/bin/restore", { body: { ids: [item.id], conflict: "rename" } }))),
    onSettled: again,
  });
  const empty = async (ids: string[] | null) => follow(await got(api.POST("/danlu/v1/files/bin/empty", { body: { ids } })));
  const items = asked.data?.items;
  const columns: Column<BinItem>[] = [
    {
      title: words.columns.name,
      cell: (item) => (
        <span className="row">
          <Kind entry={item} />
          <span className="breakable">{item.name}</span>
        </span>
      ),
    },
    { title: words.was, kind: "wide-only", cell: (item) => <span className="breakable">{parentOf(item.path)}</span> },
    { title: words.columns.size, kind: "num wide-only", cell: (item) => size(item.size) },
    { title: words.deletedAt, kind: "wide-only", cell: (item) => clock(item.deleted_at, time) },
    { title: words.goesAt, kind: "wide-only", cell: (item) => clock(item.expires_at, time) },
    {
      title: words.acts.more,
      kind: "acts",
      cell: (item) => (
        <>
          <button className="button small" disabled={restore.isPending} aria-label={words.restoreOf(item.name)} onClick={() => restore.mutate(item)}>
            <Back />
            {words.restore}
          </button>
          <AskingButton name={words.deleteOne} of={item.name} body={words.deleteOneAsk} act={() => empty([item.id])} then={again} />
        </>
      ),
    },
  ];
  if (asked.error !== null && items === undefined) return <Problem error={asked.error} retry={() => void asked.refetch()} />;
  if (items?.length === 0) {
    return (
      <div className="card empty">
        <Bin size={24} />
        <b>{words.binEmpty}</b>
        <p className="note">{words.binEmptyNote}</p>
      </div>
    );
  }
  return (
    <Section
      title={words.bin}
      note={words.binNote(days)}
      tools={<AskingButton name={words.emptyBin} of={words.bin} body={words.emptyBinAsk(items?.length ?? 0)} act={() => empty(null)} then={again} disabled={items === undefined} />}
    >
      {restore.error !== null && <div className="body"><Wrong error={restore.error} /></div>}
      <DataTable rows={items} columns={columns} keyOf={(item) => item.id} none={words.binEmpty} />
      {asked.data?.complete === false && <p className="none">{words.binMore}</p>}
    </Section>
  );
}
