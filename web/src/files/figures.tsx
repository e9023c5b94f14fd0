import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, got } from "../api/client";
import { useWords } from "../i18n";
import { useFileWords } from "../i18n/files";
import { Figure } from "../ui/manage";
import "../map/map.css";
import { clock } from "../ui/time";
import { size } from "../ui/values";
import { useBin, useFolder, type Root } from "./asks";
import { isIn, nameOf } from "./paths";
import { useView } from "./view";

const AGAIN = 2000; // milliseconds, while it is counted

/** A home that was never counted is counted when its owner first looks. */
function useFirstCount(home: Root | undefined): number | null {
  const path = home?.path ?? "";
  const asked = useQuery({
    queryKey: ["files", "usage", path, 0],
    queryFn: () => got(api.GET("/danlu/v1/files/usage", { params: { query: { path, fresh: false } } })),
    enabled: home !== undefined && home.used_at === null && home.problem_en === "",
    refetchInterval: (query) => (query.state.data?.operation != null ? AGAIN : false),
    retry: false,
  });
  return asked.data?.measured_at == null ? null : asked.data.size;
}

const split = (bytes: number): [string, string] => size(bytes).split(" ") as [string, string];

/** How much is used and left, what is here, and what could be got back. */
export function Figures({ roots, path, days }: { roots: Root[]; path: string | null; days: number }) {
  const words = useFileWords();
  const { time } = useWords();
  const bin = useBin();
  const home = roots.find((root) => root.volume === "userhome");
  const here = roots.filter((root) => path !== null && isIn(path, root.path)).sort((a, b) => b.path.length - a.path.length)[0] ?? home;
  const counted = useFirstCount(home);
  const bytes = home?.used ?? counted;
  const [used, usedUnit] = bytes === null ? ["—", ""] : split(bytes);
  const [free, freeUnit] = here?.free == null ? ["—", ""] : split(here.free);
  const quota = home?.quota ?? null;
  const full = home !== undefined && quota !== null && (home.used ?? 0) > quota * 0.9;
  return (
    <div className="card figures even files-figures">
      <Figure
        label={words.figures.used}
        value={used}
        unit={usedUnit}
        tone={full ? "warn" : undefined}
        note={quota !== null ? words.figures.usedOf(size(quota)) : home?.used_at == null ? (counted === null ? words.figures.uncounted : home?.path) : words.figures.counted(clock(home.used_at, time))}
      />
      <Figure label={words.figures.free} value={free} unit={freeUnit} note={here === undefined ? "" : here.path} />
      {path === null ? <Figure label={words.figures.here} value="—" /> : <Here path={path} />}
      <Figure
        label={words.figures.bin}
        value={bin.data === undefined ? "—" : words.number(bin.data.items.length)}
        note={<Link to="/files?bin=1">{words.figures.binDays(days)}</Link>}
      />
    </div>
  );
}

function Here({ path }: { path: string }) {
  const words = useFileWords();
  const { view } = useView(path);
  const { latest } = useFolder(view, []);
  return <Figure label={words.figures.here} value={latest === undefined ? "—" : words.number(latest.total)} note={nameOf(path)} />;
}
