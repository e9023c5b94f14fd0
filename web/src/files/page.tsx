import { useEffect } from "react";
import { Link, Navigate, useLocation, useSearchParams } from "react-router";
import { useWords } from "../i18n";
import { useFileWords } from "../i18n/files";
import { Problem } from "../ui/problem";
import { SectionTabs } from "../ui/section-tabs";
import { isFolder, useFirstPage, useRoots, useStat } from "./asks";
import { BinPage } from "./bin";
import { Browser } from "./browser";
import { Figures } from "./figures";
import "./files.css";
import { addressOf, nameOf, parentOf, pathAt } from "./paths";
import { Places } from "./places";
import { useView } from "./view";

/** The file centre: `/files/userhome/project` is the folder that tasks see at `/userhome/project`. */
export default function FilesPage() {
  const { name: site } = useWords();
  const words = useFileWords();
  const { pathname } = useLocation();
  const [address] = useSearchParams();
  const roots = useRoots();
  const path = pathAt(pathname);
  const bin = path === null && address.has("bin");
  useEffect(() => {
    document.title = `${bin ? words.bin : path === null ? words.title : nameOf(path)} · ${site}`;
  }, [bin, path, words, site]);
  const found = roots.data?.roots;
  if (roots.error !== null && found === undefined) return <Framed><Problem error={roots.error} retry={() => void roots.refetch()} /></Framed>;
  if (found === undefined) {
    return (
      <Framed>
        <div className="files-layout" aria-busy="true">
          <div className="card places" />
          <div className="card files-card" />
        </div>
      </Framed>
    );
  }
  const home = found.find((root) => root.volume === "userhome") ?? found[0];
  if (home === undefined) return <Framed><div className="card empty"><b>{words.noPlaces}</b></div></Framed>;
  if (path === null && !bin) return <Navigate to={addressOf(home.path)} replace />;
  return (
    <Framed>
      <Figures roots={found} path={path} days={roots.data?.bin_days ?? 0} />
      <div className="files-layout">
        <Places roots={found} path={path ?? ""} bin={bin} />
        {path === null ? <BinPage /> : <At key={path} path={path} />}
      </div>
    </Framed>
  );
}

function Framed({ children }: { children: React.ReactNode }) {
  const words = useFileWords();
  return (
    <div className="files-page">
      <SectionTabs />
      <h1 className="hidden-text">{words.title}</h1>
      {children}
    </div>
  );
}

/** A folder; or the folder of a file, with the file chosen. */
function At({ path }: { path: string }) {
  const words = useFileWords();
  // Both at once: nearly always it is a folder, and then its list is what people wait for.
  const asked = useStat(path, true);
  const listed = useFirstPage(useView(path).view, asked.data === undefined || isFolder(asked.data));
  const roots = useRoots().data?.roots ?? [];
  const isFound = listed.data !== undefined || roots.some((root) => root.path === path);
  if (asked.error !== null && asked.data === undefined && !isFound) {
    return (
      <div className="stack">
        <Problem error={asked.error} retry={() => void asked.refetch()} />
        <p><Link to={addressOf(parentOf(path))}>{words.up}</Link></p>
      </div>
    );
  }
  if (asked.data === undefined && !isFound) return <div className="card files-card" aria-busy="true" />;
  if (asked.data !== undefined && !isFound && !isFolder(asked.data)) return <Browser key="file" path={parentOf(path)} file={asked.data} />;
  return <Browser key="folder" path={path} />;
}
