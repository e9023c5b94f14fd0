import { memo } from "react";
import { useWords } from "../i18n";
import { amount, size } from "../ui/values";
import { useLaggingRows } from "./lagging";
import { usePicture } from "./live";
import type { Row, Totals } from "./model";

/** The map as a table: what some prefer to look at. */
export function Twin({ me }: { me: string }) {
  const picture = usePicture(me);
  return picture && <Table rows={picture.rows} totals={picture.totals} hidden={false} />;
}

/** The table behind the drawn map, for screen readers. It comes after the map and follows in some seconds: nobody
 * reads faster. */
export function HiddenTwin({ me }: { me: string }) {
  const lagging = useLaggingRows(me);
  return lagging && <Table rows={lagging.rows} totals={lagging.totals} hidden />;
}

const Table = memo(function Table({ rows, totals, hidden }: { rows: readonly Row[]; totals: Totals; hidden: boolean }) {
  const words = useWords().map;
  const { columns } = words;
  return (
    <div className={hidden ? "hidden-text apart" : "card scroll-x"}>
      <table className="table" data-twin>
        <caption className="hidden-text">
          {words.sum(totals.free, totals.used, totals.reserved, totals.outside, totals.out, totals.total)}
        </caption>
        <thead>
          <tr>
            <th>{columns.node}</th>
            <th>{columns.model}</th>
            {[columns.total, columns.free, columns.used, columns.reserved, columns.outside, columns.out, columns.cpus, columns.memory].map((name) => (
              <th className="num" key={name}>{name}</th>
            ))}
            <th>{columns.jobs}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <TwinRow key={row.node.name} row={row} />
          ))}
        </tbody>
      </table>
    </div>
  );
});

const TwinRow = memo(function TwinRow({ row }: { row: Row }) {
  const { totals } = row;
  const jobs = [...new Set(row.cells.flatMap((cell) => cell.gpu.jobs))];
  const { node } = row;
  return (
    <tr>
      <th scope="row">{node.name}</th>
      <td>{row.model}</td>
      <td className="num">{totals.total}</td>
      <td className="num">{amount(totals.free)}</td>
      <td className="num">{amount(totals.used)}</td>
      <td className="num">{amount(totals.reserved)}</td>
      <td className="num">{amount(totals.outside)}</td>
      <td className="num">{amount(totals.out)}</td>
      <td className="num">{`${amount(node.cpus_free)} / ${amount(node.cpus)}`}</td>
      <td className="num">{`${size(node.memory_free)} / ${size(node.memory)}`}</td>
      <td>{jobs.join(", ")}</td>
    </tr>
  );
});
