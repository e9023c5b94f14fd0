import { Link, useNavigate } from "react-router";
import { useFileWords } from "../i18n/files";
import { Bin } from "../ui/icons";
import type { Root } from "./asks";
import { addressOf, isIn } from "./paths";
import { FolderTree, useRootName } from "./tree";

/** Where one can go: a tree beside the list, or on a phone a choice above it. */
export function Places({ roots, path, bin }: { roots: Root[]; path: string; bin: boolean }) {
  const words = useFileWords();
  const nameOf = useRootName();
  const navigate = useNavigate();
  const here = roots.filter((root) => isIn(path, root.path)).sort((a, b) => b.path.length - a.path.length)[0];
  return (
    <nav className="card places" aria-label={words.places}>
      <FolderTree roots={roots} path={path} />
      <Link className={bin ? "branch bin-link here" : "branch bin-link"} to="/files?bin=1" aria-current={bin ? "page" : undefined}>
        <Bin />
        {words.bin}
      </Link>
      <label className="places-choice">
        <span className="hidden-text">{words.places}</span>
        <select className="input" value={bin ? "bin" : (here?.path ?? "")} onChange={(event) => void navigate(event.target.value === "bin" ? "/files?bin=1" : addressOf(event.target.value))}>
          {!bin && here === undefined && <option value="" />}
          {roots.map((root) => <option key={root.path} value={root.path}>{`${nameOf(root)} (${root.path})`}</option>)}
          <option value="bin">{words.bin}</option>
        </select>
      </label>
    </nav>
  );
}
