import { useCallback, useEffect, useState } from "react";
import { Link, useSearchParams } from "react-router";
import { useMe } from "../api/session";
import { useStatus } from "../api/stream";
import { isShortcut } from "../frame/keys";
import { useWords } from "../i18n";
import { Plus, Screen } from "../ui/icons";
import { amount } from "../ui/values";
import { NodeDetail } from "./detail";
import "./map.css";
import { FigureList } from "./lists";
import { useCalmPicture, usePart } from "./live";
import { Mark } from "./mark";
import { has, KINDS, type Cell } from "./model";
import { Rows } from "./rows";
import { Mine, NextLine, Queue } from "./side";
import { SmallMap } from "./small";
import { Strip, type List } from "./strip";
import { TellMe } from "./tell";
import { Tip, type Pointed } from "./tip";
import { HiddenTwin, Twin } from "./twin";
import { useWallZoom } from "./wall";

const MOST_IN_DOM = 160;
const LISTS: List[] = ["free", "idle", "out"];

export function MapPage() {
  const words = useWords();
  const me = useMe();
  const status = useStatus();
  const [address, setAddress] = useSearchParams();
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [person, setPerson] = useState<string | null>(null);
  const wall = address.has("wall");
  // Everybody looks at the wall: nothing on it is anybody's own.
  const viewer = wall ? "" : me.user;
  // Of the map only its shape: what changes in it is drawn by the parts themselves.
  const known = usePart(viewer, (picture) => picture !== null);
  const total = usePart(viewer, (picture) => picture?.totals.total ?? 0);
  const count = usePart(viewer, (picture) => picture?.rows.length ?? 0);
  const widest = usePart(viewer, (picture) => picture?.widest ?? 1);
  const some = usePart(viewer, (picture) => (picture?.mine ?? 0) > 0);
  const fits = Number(address.get("fits")) || null;
  const table = address.has("table");
  const whole = address.get("queue") === "all";
  const list = LISTS.find((each) => each === address.get("list"));
  const node = address.get("node");

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
  const onNode = useCallback((name: string) => set("node", name), [set]);
  useWallZoom(wall, `${count}`);
  const showWhole = (on: boolean) => set("queue", on ? "all" : null);

  if (!known) {
    return (
      <>
        <TabTitle me={viewer} />
        <Outline />
      </>
    );
  }
  const large = total <= MOST_IN_DOM;
  const sizes = [1, 2, 4, 8].filter((n) => n <= widest);
  if (!sizes.includes(widest) && widest < 8) sizes.push(widest);
  return (
    <div className={status === "away" ? "stale" : ""}>
      <TabTitle me={viewer} />
      <div className="page-head no-wall">
        <h1>{words.map.title}</h1>
        <div className="tools">
          {total > 0 && (
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
              <TellMe viewer={viewer} count={fits ?? 1} />
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
      <Strip viewer={viewer} me={wall ? null : me.user} open={wall ? null : (each) => (each === "waiting" ? showWhole(true) : set("list", each))} />
      {count === 0 && <p className="empty">{words.map.noNodes}</p>}
      {count > 0 && total === 0 && <p className="note">{words.map.noGpus}</p>}
      {(!large || wall) && <NextLine me={viewer} showWhole={wall ? null : showWhole} />}
      <div className={(large || whole) && !wall ? "board" : ""}>
        <div>
          {table && <Twin me={viewer} />}
          {!table && large && (
            <Rows me={viewer} fits={fits} person={person} onNode={onNode} onHover={hover} />
          )}
          {!table && !large && (
            <>
              <HiddenTwin me={viewer} />
              <SmallMap me={viewer} fits={fits} person={person} onNode={onNode} onHover={hover} />
            </>
          )}
          {!table && <Legend me={viewer} wall={wall} />}
        </div>
        {!wall && (
          <div className="side">
            {(large || some) && <Mine me={me.user} point={setPerson} />}
            {(large || whole) && <Queue me={me.user} whole={whole} showWhole={showWhole} point={setPerson} />}
          </div>
        )}
      </div>
      {wall && (
        <Link className="hidden-text" to="/">{words.map.leaveWall}</Link>
      )}
      {pointed !== null && <Tip pointed={pointed} me={viewer} />}
      {list !== undefined && <FigureList list={list} me={viewer} close={() => set("list", null)} openNode={(name) => { set("list", null); set("node", name); }} />}
      {node !== null && <NodeDetail viewer={viewer} name={node} close={() => set("node", null)} />}
    </div>
  );
}

const CALM = 5_000;

/** What is free, also while another tab is looked at. Browsers take their time for a title, so it follows slowly. */
function TabTitle({ me }: { me: string }) {
  const { name } = useWords();
  const picture = useCalmPicture(me, CALM);
  const free = picture && `${amount(picture.totals.free)} / ${picture.totals.total}`;
  useEffect(() => {
    document.title = free === null ? name : `${free} · ${name}`;
  }, [free, name]);
  return null;
}

function Legend({ me, wall }: { me: string; wall: boolean }) {
  const kinds = usePart(me, (picture) => picture?.kinds ?? 0);
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
}

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
