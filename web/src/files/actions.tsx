import { useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { useNavigate } from "react-router";
import { api, got } from "../api/client";
import { useFileWords } from "../i18n/files";
import { Back, Bin, Chart, Copy, Down, Folder, Lines, Right } from "../ui/icons";
import { archiveAddress, changed, contentAddress, isFolder, LONGEST, MOST_PATHS, type Entry, type Root } from "./asks";
import { setClip } from "./clipboard";
import { Delete, NewFolder, Rename, Transfer, type Taken } from "./dialogs";
import { Menu, type Item } from "./menu";
import { follow } from "./operations";
import { addressOf } from "./paths";
import { Usage } from "./usage";

interface Asked {
  path: string;
  entries: Entry[];
  readOnly: boolean;
  root: Root | undefined;
  roots: Root[];
  days: number;
  ask: (names: string[], into: string) => Promise<Taken | null>;
  clear: () => void;
  tell: (text: string) => void;
  preview: (entry: Entry) => void;
}

export interface Actions {
  items: (Item | null)[];
  act: (what: "rename" | "delete" | "folder" | "move" | "copy") => void;
  menu: (at: { x: number; y: number }) => void;
  sheets: ReactNode;
}

type Sheet = { kind: "rename" | "delete" | "folder" | "move" | "copy"; entries: Entry[] } | { kind: "usage"; path: string };

/** What can be done with what is chosen: by keys, by buttons and by a menu. */
export function useActions({ path, entries, readOnly, root, roots, days, ask, clear, tell, preview }: Asked): Actions {
  const words = useFileWords();
  const navigate = useNavigate();
  const [sheet, setSheet] = useState<Sheet | null>(null);
  const [at, setAt] = useState<{ x: number; y: number } | null>(null);
  const [binned, setBinned] = useState<Entry[] | null>(null);
  const close = () => setSheet(null);
  const act: Actions["act"] = (kind) => {
    if (readOnly && kind !== "copy") return;
    if (kind !== "folder" && entries.length === 0) return;
    if (kind === "rename" && entries.length !== 1) return;
    setSheet({ kind, entries });
  };
  const [only] = entries.length === 1 ? entries : [];
  const paths = entries.map((entry) => entry.path);
  const items: (Item | null)[] = [
    ...(only !== undefined && isFolder(only) ? [{ name: words.acts.open, icon: <Right />, act: () => void navigate(addressOf(only.path)) }] : []),
    ...(only !== undefined && !isFolder(only) ? [{ name: words.acts.preview, icon: <Lines />, act: () => preview(only) }] : []),
    ...(only !== undefined && isFolder(only) ? [{ name: words.acts.size, icon: <Chart />, act: () => setSheet({ kind: "usage" as const, path: only.path }) }] : []),
    ...downloads(entries, words.acts, () => tell(words.tooMany)),
    ...(only !== undefined ? [{ name: words.acts.copyPath, icon: <Copy />, act: () => void navigator.clipboard?.writeText(only.path) }] : []),
    ...(entries.length > 0
      ? [
          null,
          { name: words.acts.copyHere, keys: "Ctrl C", act: () => setClip({ move: false, paths }) },
          { name: words.acts.cut, keys: "Ctrl X", disabled: readOnly, act: () => setClip({ move: true, paths }) },
          { name: words.acts.copy, act: () => act("copy") },
          { name: words.acts.move, disabled: readOnly, act: () => act("move") },
          { name: words.acts.rename, keys: "F2", disabled: readOnly || only === undefined, act: () => act("rename") },
          null,
          { name: root?.bin === false ? words.acts.deleteForever : words.acts.delete, icon: <Bin />, keys: "Del", disabled: readOnly, act: () => act("delete") },
        ]
      : [
          { name: words.acts.folder, icon: <Folder />, disabled: readOnly, act: () => act("folder") },
          { name: words.acts.size, icon: <Chart />, act: () => setSheet({ kind: "usage", path }) },
        ]),
  ];
  const sheets = (
    <>
      {at !== null && <Menu label={words.acts.more} items={items} at={at} close={() => setAt(null)} />}
      {sheet?.kind === "folder" && <NewFolder folder={path} close={close} made={() => clear()} />}
      {sheet?.kind === "rename" && sheet.entries[0] !== undefined && <Rename entry={sheet.entries[0]} close={close} />}
      {(sheet?.kind === "move" || sheet?.kind === "copy") && (
        <Transfer move={sheet.kind === "move"} paths={sheet.entries.map((entry) => entry.path)} from={path} roots={roots} ask={ask} close={close} />
      )}
      {sheet?.kind === "delete" && (
        <Delete
          entries={sheet.entries}
          bin={root?.bin ?? true}
          days={days}
          close={close}
          done={() => {
            clear();
            if (root?.bin !== false) setBinned(sheet.entries);
          }}
        />
      )}
      {sheet?.kind === "usage" && <Usage path={sheet.path} close={close} />}
      {binned !== null && <Binned key={binned[0]?.path} entries={binned} close={() => setBinned(null)} />}
    </>
  );
  return { items, act, menu: setAt, sheets };
}

function downloads(entries: Entry[], words: { download: string; tar: string; zip: string }, tooMany: () => void): Item[] {
  const [only] = entries.length === 1 ? entries : [];
  if (entries.length === 0) return [];
  if (only !== undefined && !isFolder(only)) return only.kind === "other" ? [] : [{ name: words.download, icon: <Down />, href: contentAddress(only.path), download: true }];
  const paths = entries.map((entry) => entry.path);
  return (["zip", "tar"] as const).map((format) => {
    const href = archiveAddress(paths, format);
    return href.length > LONGEST || paths.length > MOST_PATHS ? { name: words[format], icon: <Down />, act: tooMany } : { name: words[format], icon: <Down />, href, download: true };
  });
}

/** Said once, with the way back. */
function Binned({ entries, close }: { entries: Entry[]; close: () => void }) {
  const words = useFileWords();
  const queries = useQueryClient();
  const [busy, setBusy] = useState(false);
  const undo = async () => {
    setBusy(true);
    const paths = new Set(entries.map((entry) => entry.path));
    const { items } = await got(api.GET("/danlu/v1/files/bin"));
    const latest = new Map<string, (typeof items)[number]>();
    for (const item of items) if (paths.has(item.path) && item.deleted_at >= (latest.get(item.path)?.deleted_at ?? 0)) latest.set(item.path, item);
    if (latest.size > 0) await follow(await got(api.POST("/danlu/v1/files/bin/restore", { body: { ids: [...latest.values()].map((item) => item.id), conflict: "rename" } })));
    changed(queries);
    close();
  };
  return (
    <div className="told" role="status">
      <span className="grow">{words.binned(entries.length, entries[0]?.name ?? "")}</span>
      <button className="button small" disabled={busy} onClick={() => void undo().catch(close)}>
        <Back />
        {words.undo}
      </button>
      <button className="button small plain" onClick={close}>{words.close}</button>
    </div>
  );
}
