import { memo, useCallback, useEffect, useMemo, useState } from "react";
import { Link, useSearchParams } from "react-router";
import { useMe } from "../api/session";
import { useNodes, useStatus, useUsage } from "../api/stream";
import { isShortcut } from "../frame/keys";
import { useWords } from "../i18n";
import { Plus, Screen } from "../ui/icons";
import { NodeDetail } from "./detail";
import "./map.css";
import { FigureList } from "./lists";
import { Mark } from "./mark";
import { has, KINDS, picture as pictureOf, type Cell } from "./model";
import { Rows } from "./rows";
import { Mine, NextLine, Queue } from "./side";
import { SmallMap } from "./small";
import { Strip, type List } from "./strip";
import { TellMe } from "./tell";
import { Tip, type Pointed } from "./tip";
import { Twin } from "./twin";
import { useWallZoom } from "./wall";

const MOST_IN_DOM = 160;
const LISTS: List[] = ["free", "idle", "out"];

export function MapPage() {
  const words = useWords();
  const me = useMe();
  const status = useStatus();
  const nodes = useNodes();
  const usage = useUsage();
  const [address, setAddress] = useSearchParams();
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [person, setPerson] = useState<string | null>(null);
  const wall = address.has("wall");
  // Everybody looks at the wall: nothing on it is anybody's own.
  const viewer = wall ? "" : me.user;
  const picture = useMemo(() => (nodes === null ? null : pictureOf(nodes, usage, viewer)), [nodes, usage, viewer]);
  const fits = Number(address.get("fits")) || null;
  const table = address.has("table");
  const whole = address.get("queue") === "all";
  const list = LISTS.find((each) => each === address.get("list"));
  const opened = picture?.rows.find((row) => row.node.name === address.get("node"));

  const set = useCallback(
    (key: string, value: string | null) => {
      // As it is now: two changes of one moment must not undo each other.
      const next = new URLSearchParams(location.search);
      if (value === null) next.delete(key);
      else next.set(key, value);
      setAddress(next, { replace: true });
    },
    [setAddress],
  );
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!isShortcut(event)) return;
      if (/^[1-8]$/.test(event.key)) set("fits", String(fits) === event.key ? null : event.key);
      else if (event.key === "Escape") set(wall ? "wall" : "fits", null);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [fits, wall, set]);
  const hover = useCallback((cell: Cell | null, at: DOMRect | null) => setPointed(cell && at ? { cell, at } : null), []);
  useEffect(() => {
    document.title = picture === null ? words.name : `${picture.totals.free} / ${picture.totals.total} · ${words.name}`;
  }, [picture, words]);

  useWallZoom(wall, `${picture?.rows.length}`);
  const showWhole = (on: boolean) => set("queue", on ? "all" : null);

  if (picture === null) return <Outline />;
  const large = picture.totals.total <= MOST_IN_DOM;
  const sizes = [1, 2, 4, 8].filter((n) => n <= picture.widest);
  if (!sizes.includes(picture.widest) && picture.widest < 8) sizes.push(picture.widest);
  return (
    <div className={status === "away" ? "stale" : ""}>
      <div className="page-head no-wall">
        <h1>{words.map.title}</h1>
        <div className="tools">
          {picture.totals.total > 0 && (
            <>
              <span className="note" id="fits-label">{words.map.fits}</span>
              <div className="segments" role="group" aria-labelledby="fits-label">
                {sizes.map((n) => (
                  <button key={n} aria-pressed={fits === n} aria-label={words.map.fitsLabel(n)} onClick={() => set("fits", fits === n ? null : String(n))}>
                    {n}
                  </button>
                ))}
              </div>
              <div className="segments">
                <button aria-pressed={table} onClick={() => set("table", table ? null : "1")}>{words.map.table}</button>
              </div>
              <TellMe count={fits ?? 1} free={picture.largest.free} />
              <button className="button" title={words.map.wall} aria-label={words.map.wall} onClick={() => set("wall", "1")}>
                <Screen />
              </button>
            </>
          )}
          <Link className="button primary" to="/submit">
            <Plus />
            {words.map.newJob}
          </Link>
        </div>
      </div>
      <Strip picture={picture} me={wall ? null : me.user} open={wall ? null : (each) => (each === "waiting" ? showWhole(true) : set("list", each))} />
      {picture.rows.length === 0 && <p className="empty">{words.map.noNodes}</p>}
      {picture.rows.length > 0 && picture.totals.total === 0 && <p className="note">{words.map.noGpus}</p>}
      {(!large || wall) && <NextLine me={viewer} showWhole={wall ? null : showWhole} />}
      <div className={(large || whole) && !wall ? "board" : ""}>
        <div>
          {table && <Twin picture={picture} hidden={false} />}
          {!table && large && (
            <Rows picture={picture} me={viewer} fits={fits} person={person} onNode={(name) => set("node", name)} onHover={hover} />
          )}
          {!table && !large && (
            <>
              <Twin picture={picture} hidden />
              <SmallMap picture={picture} fits={fits} person={person} onNode={(name) => set("node", name)} onHover={hover} />
            </>
          )}
          {!table && <Legend kinds={picture.kinds} wall={wall} />}
        </div>
        {!wall && (
          <div className="side">
            {(large || picture.mine > 0) && <Mine me={me.user} picture={picture} point={setPerson} />}
            {(large || whole) && <Queue me={me.user} whole={whole} showWhole={showWhole} point={setPerson} />}
          </div>
        )}
      </div>
      {wall && (
        <Link className="hidden-text" to="/">{words.map.leaveWall}</Link>
      )}
      {pointed !== null && <Tip pointed={pointed} me={viewer} />}
      {list !== undefined && <FigureList list={list} picture={picture} close={() => set("list", null)} openNode={(name) => { set("list", null); set("node", name); }} />}
      {opened !== undefined && <NodeDetail row={opened} close={() => set("node", null)} />}
    </div>
  );
}

const Legend = memo(function Legend({ kinds, wall }: { kinds: number; wall: boolean }) {
  const words = useWords().map.legend;
  // What everybody must know is always there; what is rare only when it is on the map.
  const shown = KINDS.filter((kind, index) => (index < 4 || has({ kinds }, kind)) && !(wall && kind === "mine"));
  return (
    <div className="legend">
      {shown.map((kind) => (
        <span key={kind}>
          <Mark kind={kind} />
          {words[kind]}
        </span>
      ))}
    </div>
  );
});

/** The known shape, before the values are there. */
function Outline() {
  const words = useWords();
  return (
    <div aria-busy="true">
      <div className="page-head">
        <h1>{words.map.title}</h1>
      </div>
      <section className="card figures" style={{ minHeight: 92 }} />
      <div className="board">
        <div className="card" style={{ minHeight: 420 }} />
        <div className="card" style={{ minHeight: 240 }} />
      </div>
    </div>
  );
}
