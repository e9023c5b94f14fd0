import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { api } from "../api/client";
import { useMe } from "../api/session";
import { useSaid, useWords } from "../i18n";
import { useProblem } from "../ui/problem";
import { Sheet } from "../ui/sheet";
import { amount, ranges, refPath, size } from "../ui/values";
import { usePart } from "./live";
import type { Row } from "./model";
import { useWhat } from "./what";

/** All about one node; an admin takes it out of service here, or back. */
export function NodeDetail({ viewer, name, close }: { viewer: string; name: string; close: () => void }) {
  const row = usePart(viewer, (picture) => picture?.rows.find((each) => each.node.name === name));
  return row === undefined ? null : <Detail row={row} close={close} />;
}

function Detail({ row, close }: { row: Row; close: () => void }) {
  const { map: words, colon } = useWords();
  const me = useMe();
  const what = useWhat(me.user);
  const said = useProblem();
  const told = useSaid();
  const { node } = row;
  const [reason, setReason] = useState("");
  const change = useMutation({
    mutationFn: () => {
      const path = { params: { path: { name: node.name } } };
      return node.drained
        ? api.POST("/danlu/v1/nodes/{name}/resume", path)
        : api.POST("/danlu/v1/nodes/{name}/drain", { ...path, body: { reason } });
    },
  });
  return (
    <Sheet title={node.name} close={close}>
      <div className="stack">
        {node.note !== "" && <p>{told(node, "note") || node.note}</p>}
        {node.drained && <p className="breakable">{[words.drained, node.drain_reason].filter(Boolean).join(colon)}</p>}
        <dl className="facts">
          <dt>{words.columns.model}</dt>
          <dd>{row.cells.length > 0 ? `${row.cells.length} × ${row.model}` : "—"}</dd>
          <dt>{words.columns.cpus}</dt>
          <dd>{amount(node.cpus_free)} / {amount(node.cpus)}</dd>
          <dt>{words.columns.memory}</dt>
          <dd>{size(node.memory_free)} / {size(node.memory)}</dd>
          <dt>{words.address}</dt>
          <dd className="mono">{node.address || "—"}</dd>
          <dt>{words.labels}</dt>
          <dd>{node.labels.join(", ") || "—"}</dd>
        </dl>
        <ul>
          {row.blocks.map((block) => (
            <li className="row" key={block.cells[0]?.gpu.index}>
              <span className="mono dim">{ranges(block.cells.map((cell) => cell.gpu.index))}</span>
              {block.job && block.kind !== "reserved" && block.kind !== "outside" ? (
                <Link to={`/jobs/${refPath(block.job)}`}>{block.job}</Link>
              ) : (
                <span>{block.cells[0] ? what(block.cells[0]) : ""}</span>
              )}
            </li>
          ))}
        </ul>
        {change.error !== null && <p className="problem" role="alert">{said(change.error)}</p>}
        {me.role === "admin" && (
          <div>
            {!node.drained && (
              <label className="field" style={{ marginBottom: 12 }}>
                <span>{words.reason}</span>
                <input className="input" maxLength={200} value={reason} onChange={(event) => setReason(event.target.value)} />
                <small className="note">{words.drainAsk(node.name)}</small>
              </label>
            )}
            <button className="button" disabled={change.isPending} onClick={() => change.mutate()}>
              {node.drained ? words.resume : words.drain}
            </button>
          </div>
        )}
      </div>
    </Sheet>
  );
}
