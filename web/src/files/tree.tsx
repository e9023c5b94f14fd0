import { useState } from "react";
import { Link } from "react-router";
import { useFileWords } from "../i18n/files";
import { Disk, Folder, Home, People, Right } from "../ui/icons";
import { useFolders, type Root } from "./asks";
import { addressOf, isIn, nameOf } from "./paths";

/** As people call it: Home, Group vision, scans. */
export function useRootName() {
  const words = useFileWords();
  return (root: Root) => words.placeNames[root.volume] ?? (root.volume.startsWith("share.") ? words.share(root.volume.slice(6)) : root.volume);
}

interface Tree {
  roots: Root[];
  path: string;
  /** Where a click leads; without it, to the folder's page. */
  pick?: (path: string) => void;
  writable?: boolean;
}

/** The volumes and the folders inside of them, opened one by one. */
export function FolderTree({ roots, path, pick, writable = false }: Tree) {
  const nameOfRoot = useRootName();
  return (
    <ul className="tree">
      {roots
        .filter((root) => !writable || !root.read_only)
        .map((root) => (
          <Branch key={root.path} at={root.path} name={nameOfRoot(root)} root={root} path={path} pick={pick} depth={0} />
        ))}
    </ul>
  );
}

function Branch({ at, name, root, path, pick, depth }: { at: string; name: string; root?: Root; path: string; pick?: Tree["pick"]; depth: number }) {
  const words = useFileWords();
  const inside = path !== at && isIn(path, at);
  const [turned, setTurned] = useState<boolean | null>(null);
  const open = turned ?? (inside || (path === at && depth === 0));
  const asked = useFolders(at, open);
  const Icon = root === undefined ? Folder : root.volume === "userhome" ? Home : root.volume.startsWith("share.") ? People : Disk;
  const here = path === at;
  const note = root === undefined ? "" : root.problem_en !== "" ? words.away : root.read_only ? words.readOnly : "";
  const label = (
    <>
      <Icon className={root === undefined ? "kind folder" : "kind"} />
      <span className="cut">{name}</span>
      {note !== "" && <small className="note">{note}</small>}
    </>
  );
  return (
    <li>
      <div className={here ? "branch here" : "branch"} style={{ paddingLeft: depth * 14 }}>
        <button type="button" className="turn" aria-expanded={open} aria-label={words.unfold(name)} onClick={() => setTurned(!open)}>
          <Right size={12} className={open ? "turned" : ""} />
        </button>
        {pick === undefined ? (
          <Link className="to" to={addressOf(at)} aria-current={here ? "page" : undefined} title={at}>{label}</Link>
        ) : (
          <button type="button" className="to" aria-pressed={here} title={at} onClick={() => pick(at)}>{label}</button>
        )}
      </div>
      {open && (asked.data?.length ?? 0) > 0 && (
        <ul>
          {asked.data?.map((entry) => (
            <Branch key={entry.path} at={entry.path} name={nameOf(entry.path)} path={path} pick={pick} depth={depth + 1} />
          ))}
        </ul>
      )}
    </li>
  );
}
