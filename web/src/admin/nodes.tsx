import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { api } from "../api/client";
import { useNodes, type Node } from "../api/stream";
import { useWords } from "../i18n";
import { useManageWords } from "../i18n/manage";
import { DataTable, Field, Section, Wrong } from "../ui/manage";
import { Sheet } from "../ui/sheet";
import { amount, size } from "../ui/values";

const stateOf = (node: Node) => (node.unknown_since !== null ? "silent" : !node.up ? "down" : node.drained ? "drained" : "up");
const TONES: Record<string, string> = { up: "go", drained: "warn", down: "bad", silent: "bad" };

/** Live: what another admin changes is seen here, too. */
export function Nodes() {
  const all = useManageWords();
  const words = all.nodes;
  const { map } = useWords();
  const live = useNodes();
  const nodes = live === null ? undefined : [...live.values()].sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
  const [drained, setDrained] = useState<Node | null>(null);
  const resume = useMutation({ mutationFn: (name: string) => api.POST("/danlu/v1/nodes/{name}/resume", { params: { path: { name } } }) });
  return (
    <Section title={all.admin.tabs["nodes"] ?? ""}>
      <Wrong error={resume.error} />
      <DataTable
        rows={nodes}
        keyOf={(node) => node.name}
        none={words.none}
        columns={[
          { title: map.columns.node, cell: (node) => <><b>{node.name}</b> <span className="note breakable">{node.address}</span></> },
          {
            title: words.state,
            cell: (node) => (
              <>
                <span className={`badge ${TONES[stateOf(node)]}`}>{words.states[stateOf(node)]}</span> <span className="note breakable">{node.drain_reason}</span>
              </>
            ),
          },
          { title: words.gpus, cell: (node) => `${node.gpus.filter((gpu) => gpu.state === "free").length} / ${node.gpus.length}`, kind: "num" },
          { title: map.columns.model, cell: (node) => [...new Set(node.gpus.map((gpu) => gpu.model))].join(", ") || "—", kind: "wide-only" },
          { title: map.columns.cpus, cell: (node) => `${amount(node.cpus_free)} / ${amount(node.cpus)}`, kind: "num wide-only" },
          { title: map.columns.memory, cell: (node) => `${size(node.memory_free)} / ${size(node.memory)}`, kind: "num wide-only" },
          {
            title: all.admin.change,
            kind: "acts",
            cell: (node) =>
              node.drained ? (
                <button className="button small" disabled={resume.isPending} onClick={() => resume.mutate(node.name)}>{words.resume}</button>
              ) : (
                <button className="button small" onClick={() => setDrained(node)}>{words.drain}</button>
              ),
          },
        ]}
      />
      {drained !== null && <Drain name={drained.name} close={() => setDrained(null)} />}
    </Section>
  );
}

export function Drain({ name, close }: { name: string; close: () => void }) {
  const all = useManageWords();
  const words = all.nodes;
  const { map } = useWords();
  const going = useMutation({
    mutationFn: (reason: string) => api.POST("/danlu/v1/nodes/{name}/drain", { params: { path: { name } }, body: { reason } }),
    onSuccess: close,
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    going.mutate(String(new FormData(event.currentTarget).get("reason")));
  };
  return (
    <Sheet title={words.drainTitle(name)} close={close}>
      <form className="stack" onSubmit={submit}>
        <p>{map.drainAsk(name)}</p>
        <Field label={words.reason} hint={words.reasonHint}>
          <input className="input" name="reason" maxLength={200} autoFocus />
        </Field>
        <Wrong error={going.error} />
        <div className="row">
          <button className="button primary" disabled={going.isPending}>{words.drain}</button>
          <button className="button" type="button" onClick={close}>{all.cancel}</button>
        </div>
      </form>
    </Sheet>
  );
}
