import { useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useCallback, useEffect, useRef, useState, type DragEvent, type ReactNode } from "react";
import { useNavigate, useSearchParams } from "react-router";
import { useMe } from "../api/session";
import { useStatus } from "../api/stream";
import { useFileWords } from "../i18n/files";
import { Problem, useProblem } from "../ui/problem";
import { dropped } from "../uploads/pick";
import type { Picked } from "../uploads/plan";
import { upload } from "../uploads/start";
import { useActions } from "./actions";
import { useTaken } from "./ask";
import { changed, isFolder, PAGE, useFolder, useKnown, useRoots, type Entry, type Root } from "./asks";
import { setClip, useClip } from "./clipboard";
import { transfer } from "./dialogs";
import { Grid, NOTHING, ROWS, type Act, type Chosen } from "./grid";
import { addressOf, isIn, nameOf, parentOf } from "./paths";
import { useSearch } from "./search";
import { Toolbar } from "./toolbar";
import { UnfinishedUploads } from "./uploading";
import { useView } from "./view";

const FilePreview = lazy(() => import("./preview"));
const NARROW = 1100; // pixels: below, the preview covers the list

/** A folder: its list, what is chosen in it, and what is inside of the chosen file. */
export function Browser({ path, file }: { path: string; file?: Entry }) {
  const words = useFileWords();
  const me = useMe();
  const away = useStatus() === "away";
  const queries = useQueryClient();
  const navigate = useNavigate();
  const said = useProblem();
  const knows = useKnown();
  const [address] = useSearchParams();
  const { view, change } = useView(path);
  const [numbers, setNumbers] = useState<number[]>([0]);
  const folder = useFolder(view, numbers);
  const text = address.get("find") ?? "";
  const search = useSearch(path, text);
  const roots = useRoots().data;
  const root = rootOf(roots?.roots ?? [], path);
  const [chosen, setChosen] = useState<Chosen>(file === undefined ? NOTHING : { entries: new Map([[file.path, file]]), active: 0, anchor: 0 });
  const [shown, setShown] = useState<Entry | null>(file ?? null);
  const [told, setTold] = useState("");
  const [ask, question] = useTaken();
  const clip = useClip();
  const readOnly = folder.latest?.read_only ?? root?.read_only ?? true;

  const shows = useCallback((first: number, last: number) => {
    const from = Math.floor(first / PAGE);
    const to = Math.floor(Math.max(first, last - 1) / PAGE);
    const next = [...Array(to - from + 1).keys()].map((at) => from + at);
    setNumbers((before) => (before.join() === next.join() ? before : next));
  }, []);
  const choose = (next: Chosen) => {
    setChosen(next);
    const [only] = next.entries.size === 1 ? [...next.entries.values()] : [];
    // On a phone a tap chooses; looking into it is another.
    if (innerWidth >= NARROW || shown !== null) setShown(only ?? null);
  };
  const complain = (error: unknown) => setTold(said(error));
  const take = (picked: Picked[], into = path) => {
    void upload(picked, into, me.user, (names) => ask(names, into)).catch(complain);
  };
  const carry = async (move: boolean, paths: string[], into: string) => {
    if (paths.some((one) => isIn(into, one))) {
      setTold(words.intoItself);
      return false;
    }
    const went = await transfer(move, paths, into, (names) => ask(names, into));
    changed(queries);
    return went;
  };
  const drop = (entry: { path: string }, data: DataTransfer) => {
    const rows = data.getData(ROWS);
    if (rows !== "") {
      const paths = (JSON.parse(rows) as string[]).filter((one) => parentOf(one) !== entry.path && one !== entry.path);
      if (paths.length > 0) void carry(true, paths, entry.path).catch(complain);
    } else void dropped(data).then((picked) => take(picked, entry.path)).catch(complain);
  };
  const entries = [...chosen.entries.values()];
  const actions = useActions({ path, entries, readOnly, root, roots: roots?.roots ?? [], days: roots?.bin_days ?? 0, ask, clear: () => choose(NOTHING), tell: setTold, preview: setShown });
  const act = (what: Act, entry: Entry | undefined) => {
    if (what === "open" && entry !== undefined) {
      if (isFolder(entry)) {
        knows(entry);
        void navigate(addressOf(entry.path));
      } else setShown(entry);
    } else if (what === "up") {
      if (root !== undefined && path !== root.path) void navigate(addressOf(parentOf(path)));
    } else if (what === "paste") {
      if (clip !== null && !readOnly) {
        void carry(clip.move, clip.paths, path)
          .then((went) => went && clip.move && setClip(null))
          .catch(complain);
      }
    } else if (what === "copy" || what === "cut") {
      if (entries.length > 0) setClip({ move: what === "cut" && !readOnly, paths: entries.map((one) => one.path) });
    } else if (what !== "open") actions.act(what);
  };
  const total = folder.latest?.total ?? 0;
  const found = search?.entries ?? [];
  const covered = shown !== null && innerWidth < NARROW;
  return (
    <DropZone path={path} readOnly={readOnly} drop={drop}>
      <div className={shown === null ? "stack files-main" : "stack files-main with-preview"}>
        <UnfinishedUploads take={take} />
        <div className={away ? "card files-card stale" : "card files-card"} inert={covered || undefined}>
          <Toolbar {...{ path, root, text, readOnly, chosen: entries, view, change, take, actions }} paste={clip === null || readOnly ? null : () => act("paste", undefined)} clip={clip} />
          {told !== "" && <Told text={told} close={() => setTold("")} />}
          {folder.first.error !== null && folder.latest === undefined ? (
            <div className="body"><Problem error={folder.first.error} retry={() => void folder.first.refetch()} /></div>
          ) : search !== null ? (
            <>
              <p className="file-note" role="status">{search.error !== null ? said(search.error) : search.complete === null ? words.searching(words.number(search.seen)) : found.length === 0 ? words.nothing : search.complete ? words.found(found.length, words.number(search.seen)) : words.foundPartly(found.length, words.number(search.seen))}</p>
              <Grid label={words.search} total={found.length} entryAt={(at) => found[at]} shows={() => undefined} {...{ chosen, choose, act, drop }} menu={actions.menu} places />
            </>
          ) : (
            <>
              {folder.latest?.complete === false && <p className="file-note" role="status">{(folder.latest.reading ? words.reading : words.partly)(words.number(total))}</p>}
              {folder.latest !== undefined && folder.latest.sort !== view.sort && <p className="file-note">{words.byName}</p>}
              <Grid
                key={view.sort + view.hidden}
                label={nameOf(path)}
                total={total}
                entryAt={folder.entryAt}
                sort={folder.latest?.sort ?? view.sort}
                sortBy={(sort) => change({ sort })}
                faded={clip?.move ? new Set(clip.paths) : undefined}
                {...{ shows, chosen, choose, act, drop }}
                menu={actions.menu}
              >
                {folder.latest !== undefined && total === 0 && <Empty readOnly={readOnly} />}
                {folder.latest === undefined && <div className="preview-wait" aria-busy="true" />}
              </Grid>
            </>
          )}
        </div>
        {shown !== null && (
          <Suspense fallback={<div className="card preview" aria-busy="true" />}>
            <Closing close={() => setShown(null)} active={covered}>
              <FilePreview entry={shown} close={() => setShown(null)} />
            </Closing>
          </Suspense>
        )}
      </div>
      {actions.sheets}
      {question}
    </DropZone>
  );
}

export function rootOf(roots: Root[], path: string): Root | undefined {
  return roots.filter((root) => isIn(path, root.path)).sort((a, b) => b.path.length - a.path.length)[0];
}

function Empty({ readOnly }: { readOnly: boolean }) {
  const words = useFileWords();
  return (
    <div className="empty">
      <b>{words.emptyTitle}</b>
      <p className="note">{readOnly ? words.emptyReadOnly : words.empty}</p>
    </div>
  );
}

function Told({ text, close }: { text: string; close: () => void }) {
  const words = useFileWords();
  return (
    <div className="file-told" role="alert">
      <span className="grow problem">{text}</span>
      <button className="button small plain" onClick={close}>{words.close}</button>
    </div>
  );
}

/** Over the list on narrow screens: Escape leads back. */
function Closing({ close, active, children }: { close: () => void; active: boolean; children: ReactNode }) {
  const leave = useRef(close);
  leave.current = close;
  useEffect(() => {
    if (!active) return;
    const press = (event: KeyboardEvent) => event.key === "Escape" && leave.current();
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [active]);
  return children;
}

function DropZone({ path, readOnly, drop, children }: { path: string; readOnly: boolean; drop: (entry: { path: string }, data: DataTransfer) => void; children: ReactNode }) {
  const words = useFileWords();
  const [over, setOver] = useState(0);
  const files = (event: DragEvent) => event.dataTransfer.types.includes("Files");
  return (
    <div
      className="drop-zone"
      onDragEnter={(event) => files(event) && setOver((count) => count + 1)}
      onDragLeave={(event) => files(event) && setOver((count) => Math.max(0, count - 1))}
      onDragOver={(event) => {
        if (files(event)) event.preventDefault();
      }}
      onDropCapture={() => setOver(0)}
      onDrop={(event) => {
        if (!files(event)) return;
        event.preventDefault();
        if (!readOnly) drop({ path }, event.dataTransfer);
      }}
    >
      {children}
      {over > 0 && <div className={readOnly ? "drop-here refused" : "drop-here"}>{readOnly ? words.dropRefused : words.drop(path)}</div>}
    </div>
  );
}
