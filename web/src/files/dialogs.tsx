import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { api, got } from "../api/client";
import { useFileWords } from "../i18n/files";
import { Wrong } from "../ui/manage";
import { Sheet } from "../ui/sheet";
import { changed, exists, type Entry, type Root } from "./asks";
import { each, follow } from "./operations";
import { below, ending, isIn, nameOf, parentOf, wrongName } from "./paths";
import { FolderTree } from "./tree";

export type Taken = "overwrite" | "rename" | "skip";

function NameForm({ title, value, button, act, close }: { title: string; value: string; button: string; act: (name: string) => Promise<unknown>; close: () => void }) {
  const words = useFileWords();
  const queries = useQueryClient();
  const [name, setName] = useState(value);
  const wrong = name === "" ? null : wrongName(name);
  const going = useMutation({
    mutationFn: () => act(name.trim()),
    onSuccess: () => {
      changed(queries);
      close();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (wrongName(name) === null) going.mutate();
  };
  return (
    <Sheet title={title} close={close}>
      <form className="stack" onSubmit={submit}>
        <label className="field">
          <span>{words.name}</span>
          <input
            className="input"
            autoFocus
            autoComplete="off"
            spellCheck={false}
            value={name}
            aria-invalid={wrong !== null || going.error !== null}
            onFocus={(event) => event.target.setSelectionRange(0, ending(value)[0].length)}
            onChange={(event) => {
              setName(event.target.value);
              going.reset();
            }}
          />
        </label>
        {wrong !== null && <p className="problem" role="alert">{words.wrongName[wrong]}</p>}
        <Wrong error={going.error} />
        <div className="row">
          <button className="button primary" disabled={going.isPending || wrongName(name) !== null || name.trim() === value}>{button}</button>
          <button className="button" type="button" onClick={close}>{words.cancel}</button>
        </div>
      </form>
    </Sheet>
  );
}

export function NewFolder({ folder, close, made }: { folder: string; close: () => void; made: (path: string) => void }) {
  const words = useFileWords();
  const act = async (name: string) => made((await got(api.POST("/danlu/v1/files/folders", { body: { path: below(folder, name), parents: false } }))).path);
  return <NameForm title={words.newFolder} value="" button={words.create} act={act} close={close} />;
}

export function Rename({ entry, close }: { entry: Entry; close: () => void }) {
  const words = useFileWords();
  const act = async (name: string) => {
    const body = { paths: [entry.path], to: below(parentOf(entry.path), name), conflict: "refuse" as const };
    return follow(await got(api.POST("/danlu/v1/files/move", { body })));
  };
  return <NameForm title={words.rename(entry.name)} value={entry.name} button={words.renameDo} act={act} close={close} />;
}

/** Moves or copies into a folder; asks what to do with names that are taken. Returns whether it went on. */
export async function transfer(move: boolean, paths: readonly string[], into: string, ask: (names: string[]) => Promise<Taken | null>): Promise<boolean> {
  // Copied into its own folder something gets a number, as on every desktop.
  const same = !move && paths.every((path) => parentOf(path) === into);
  const found = same ? [] : await Promise.all(paths.slice(0, 200).map(async (path) => ((await exists(below(into, nameOf(path)))) ? [path] : [])));
  const taken = found.flat();
  const choice = taken.length > 0 ? await ask(taken.map(nameOf)) : same ? ("rename" as const) : ("refuse" as const);
  if (choice === null) return false;
  const rest = choice === "skip" ? paths.filter((path) => !taken.includes(path)) : paths;
  const conflict: "refuse" | "overwrite" | "rename" = choice === "skip" ? "refuse" : choice;
  await each(rest, (some) => {
    const body = { paths: some, into, conflict };
    return got(move ? api.POST("/danlu/v1/files/move", { body }) : api.POST("/danlu/v1/files/copy", { body }));
  });
  return true;
}

export function Transfer({ move, paths, from, roots, ask, close }: { move: boolean; paths: string[]; from: string; roots: Root[]; ask: (names: string[], into: string) => Promise<Taken | null>; close: () => void }) {
  const words = useFileWords();
  const queries = useQueryClient();
  const [into, setInto] = useState(from);
  const itself = paths.some((path) => isIn(into, path));
  const going = useMutation({
    mutationFn: () => transfer(move, paths, into, (names) => ask(names, into)),
    onSuccess: (went) => {
      changed(queries);
      if (went) close();
    },
  });
  return (
    <Sheet title={move ? words.moveTitle(paths.length) : words.copyTitle(paths.length)} close={close}>
      <div className="stack">
        <p className="note breakable">{words.into}: <b>{into}</b></p>
        <div className="tree-box">
          <FolderTree roots={roots} path={into} pick={setInto} writable />
        </div>
        {itself && <p className="problem" role="alert">{words.intoItself}</p>}
        <Wrong error={going.error} />
        <div className="row">
          <button className="button primary" disabled={going.isPending || itself || (move && into === from)} onClick={() => going.mutate()}>{move ? words.moveDo : words.copyDo}</button>
          <button className="button" onClick={close}>{words.cancel}</button>
        </div>
      </div>
    </Sheet>
  );
}

/** Names that are taken: replace, keep both, or leave out. */
export function TakenSheet({ names, folder, answer }: { names: string[]; folder: string; answer: (choice: Taken | null) => void }) {
  const words = useFileWords().taken;
  const all = useFileWords();
  const shown = names.slice(0, 3).join(", ") + (names.length > 3 ? words.and(names.length - 3) : "");
  const choices: [Taken, string, string][] = [
    ["rename", words.both, words.bothNote],
    ["overwrite", words.replace, words.replaceNote],
    ["skip", words.skip, words.skipNote],
  ];
  return (
    <Sheet title={words.title(names.length)} close={() => answer(null)}>
      <div className="stack">
        <p className="breakable">{words.in(shown, folder)}</p>
        <div className="column-of-buttons">
          {choices.map(([choice, name, note]) => (
            <button key={choice} className="button choice" onClick={() => answer(choice)}>
              <b>{name}</b>
              <span className="note">{note}</span>
            </button>
          ))}
        </div>
        <button className="button" onClick={() => answer(null)}>{all.cancel}</button>
      </div>
    </Sheet>
  );
}

export function Delete({ entries, bin, days, close, done }: { entries: Entry[]; bin: boolean; days: number; close: () => void; done: () => void }) {
  const words = useFileWords();
  const queries = useQueryClient();
  const name = entries[0]?.name ?? "";
  const going = useMutation({
    mutationFn: () =>
      each(
        entries.map((entry) => entry.path),
        (paths) => got(api.POST("/danlu/v1/files/delete", { body: { paths, forever: !bin } })),
      ),
    onSuccess: () => {
      changed(queries);
      close();
      done();
    },
  });
  const button = bin ? words.acts.delete : words.acts.deleteForever;
  return (
    <Sheet title={bin ? words.deleteTitle(entries.length, name) : words.foreverTitle(entries.length, name)} close={close}>
      <div className="stack">
        <p>{bin ? words.deleteAsk(days) : words.foreverAsk}</p>
        <Wrong error={going.error} />
        <div className="row">
          <button className="button primary" autoFocus disabled={going.isPending} onClick={() => going.mutate()}>{button}</button>
          <button className="button" onClick={close}>{words.cancel}</button>
        </div>
      </div>
    </Sheet>
  );
}
