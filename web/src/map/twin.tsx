import { memo } from "react";
import { useWords } from "../i18n";
import { amount, size } from "../ui/values";
import { useCalmPicture, usePicture } from "./live";
import type { Picture, Row } from "./model";

const CALM = 5_000;

/** The map as a table: what some prefer to look at. */
export function Twin({ me }: { me: string }) {
  const picture = usePicture(me);
  return picture && <Table picture={picture} hidden={false} />;
}

/** The table behind the drawn map, for screen readers. It comes after the map and follows every few seconds:
 * nobody reads faster, and a wave of changes stays cheap. */
export function HiddenTwin({ me }: { me: string }) {
  const picture = useCalmPicture(me, CALM);
  return picture && <Table picture={picture} hidden />;
}

const Table = memo(function Table({ picture, hidden }: { picture: Picture; hidden: boolean }) {
  const words = useWords().map;
  const { columns } = words;
  const { totals } = picture;
  return (
    <div className={hidden ? "hidden-text" : "card scroll-x"}>
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
          {picture.rows.map((row) => (
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
