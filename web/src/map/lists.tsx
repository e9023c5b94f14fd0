import { Link } from "react-router";
import { useWords } from "../i18n";
import { Sheet } from "../ui/sheet";
import { ranges, refPath } from "../ui/values";
import { usePicture } from "./live";
import { has } from "./model";
import type { List } from "./strip";

/** What a figure of the strip is made of. */
export function FigureList({ list, me, close, openNode }: { list: List; me: string; close: () => void; openNode: (name: string) => void }) {
  const words = useWords().map;
  const rows = usePicture(me)?.rows ?? [];
  const title = { free: words.freeTitle, waiting: words.waitingTitle, idle: words.idleTitle, out: words.outTitle }[list];
  const node = (name: string, text: string) => (
    <li key={name}>
      <button className="linklike" onClick={() => openNode(name)}>{text}</button>
    </li>
  );
  const lines =
    list === "free"
      ? rows.filter((row) => row.free > 0).map((row) => node(row.node.name, words.fitsOn(row.node.name, row.free)))
      : list === "out"
        ? rows
            .filter((row) => row.node.drained || has(row, "drained", "down", "silent"))
            .map((row) => node(row.node.name, [row.node.name, row.node.up ? row.node.drain_reason || words.drained : words.silent].join(" · ")))
        : rows.flatMap((row) =>
            row.blocks
              .filter((block) => block.kind === "idle" && block.job !== null)
              .map((block) => (
                <li key={`${row.node.name} ${block.cells[0]?.gpu.index}`} className="row">
                  <Link to={`/jobs/${refPath(block.job ?? "")}`}>{block.job}</Link>
                  <span className="note">{row.node.name} · {ranges(block.cells.map((cell) => cell.gpu.index))}</span>
                </li>
              )),
          );
  return (
    <Sheet title={title} close={close}>
      {lines.length === 0 ? <p className="note">{words.listNone}</p> : <ul>{lines}</ul>}
    </Sheet>
  );
}
