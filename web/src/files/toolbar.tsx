import { useEffect, useRef, useState } from "react";
import { Link, useSearchParams } from "react-router";
import { useFileWords } from "../i18n/files";
import { Bin, Dots, Down, Folder, Up } from "../ui/icons";
import { size } from "../ui/values";
import type { Picked } from "../uploads/plan";
import type { Actions } from "./actions";
import { isFolder, type Entry, type Root, type View } from "./asks";
import type { Clip } from "./clipboard";
import { addressOf, parentOf, steps } from "./paths";
import { useRootName } from "./tree";
import { UploadButton } from "./uploading";

interface Props {
  path: string;
  root: Root | undefined;
  text: string;
  readOnly: boolean;
  chosen: Entry[];
  view: View;
  change: (changes: { hidden: boolean }) => void;
  take: (picked: Picked[]) => void;
  actions: Actions;
  paste: (() => void) | null;
  clip: Clip | null;
}

const WAIT = 350; // milliseconds after the last letter

export function Toolbar({ path, root, text, readOnly, chosen, view, change, take, actions, paste, clip }: Props) {
  const words = useFileWords();
  const [, setAddress] = useSearchParams();
  const [typed, setTyped] = useState(text);
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const timer = setTimeout(() => typed.trim() !== text && setAddress(typed.trim() === "" ? {} : { find: typed.trim() }, { replace: true }), WAIT);
    return () => clearTimeout(timer);
  }, [typed, text, setAddress]);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const at = event.target as HTMLElement;
      if (event.key !== "/" || event.ctrlKey || event.metaKey || at.closest("input, textarea, select, [role=dialog]")) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      box.current?.focus();
    };
    document.addEventListener("keydown", press, true);
    return () => document.removeEventListener("keydown", press, true);
  }, []);
  return (
    <>
      <div className="file-bar">
        <Crumbs path={path} root={root} />
        <label className="check hidden-toggle">
          <input type="checkbox" checked={view.hidden} onChange={(event) => change({ hidden: event.target.checked })} />
          {words.hidden}
        </label>
        <input ref={box} className="input find" type="search" aria-label={words.search} placeholder={words.search} value={typed} maxLength={200} onChange={(event) => setTyped(event.target.value)} />
        <button type="button" className="button" aria-label={words.acts.folder} disabled={readOnly} onClick={() => actions.act("folder")}>
          <Folder />
          <span className="wide">{words.acts.folder}</span>
        </button>
        <UploadButton take={take} disabled={readOnly} />
      </div>
      {chosen.length > 0 ? (
        <ChosenBar chosen={chosen} actions={actions} readOnly={readOnly} />
      ) : (
        clip !== null && (
          <div className="file-chosen">
            <span className="grow note">{words.clipboard(clip.paths.length, clip.move)}</span>
            {paste !== null && <button className="button small" onClick={paste}>{words.acts.paste}</button>}
          </div>
        )
      )}
    </>
  );
}

function Crumbs({ path, root }: { path: string; root: Root | undefined }) {
  const words = useFileWords();
  const nameOf = useRootName();
  const all = root === undefined ? [] : [{ name: nameOf(root), path: root.path }, ...steps(path, root.path)];
  return (
    <nav className="crumbs" aria-label={words.path}>
      {root !== undefined && path !== root.path && (
        <Link className="button small plain" to={addressOf(parentOf(path))} aria-label={words.up}><Up /></Link>
      )}
      <ol>
        {all.map((step, at) => (
          <li key={step.path}>
            {at === all.length - 1 ? <b className="cut" aria-current="page" title={step.path}>{step.name}</b> : <Link className="cut" to={addressOf(step.path)} title={step.path}>{step.name}</Link>}
          </li>
        ))}
      </ol>
    </nav>
  );
}

function ChosenBar({ chosen, actions, readOnly }: { chosen: Entry[]; actions: Actions; readOnly: boolean }) {
  const words = useFileWords();
  const bytes = chosen.some(isFolder) ? "" : size(chosen.reduce((sum, entry) => sum + entry.size, 0));
  const download = actions.items.find((item) => item?.icon !== undefined && (item.name === words.acts.download || item.name === words.acts.zip));
  return (
    <div className="file-chosen" role="toolbar" aria-label={words.chosen(chosen.length, bytes)}>
      <span className="grow note">{words.chosen(chosen.length, bytes)}</span>
      {download?.href !== undefined && (
        <a className="button small" aria-label={words.acts.download} href={download.href} download="">
          <Down />
          <span className="wide">{words.acts.download}</span>
        </a>
      )}
      <button className="button small wide-button" disabled={readOnly} onClick={() => actions.act("move")}>{words.acts.move}</button>
      <button className="button small wide-button" onClick={() => actions.act("copy")}>{words.acts.copy}</button>
      {chosen.length === 1 && <button className="button small wide-button" disabled={readOnly} onClick={() => actions.act("rename")}>{words.acts.rename}</button>}
      <button className="button small" disabled={readOnly} aria-label={words.acts.delete} onClick={() => actions.act("delete")}>
        <Bin />
        <span className="wide">{words.acts.delete}</span>
      </button>
      <button
        className="button small"
        aria-haspopup="menu"
        aria-label={words.acts.more}
        onClick={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          actions.menu({ x: box.right - 200, y: box.bottom + 4 });
        }}
      >
        <Dots />
      </button>
    </div>
  );
}
