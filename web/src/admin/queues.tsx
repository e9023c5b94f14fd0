import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { api, got, type Schemas } from "../api/client";
import { useNodes } from "../api/stream";
import { useManageWords } from "../i18n/manage";
import { AskingButton, DataTable, Field, Section, Wrong } from "../ui/manage";
import { Sheet } from "../ui/sheet";

type Queue = Schemas["Queue"];
type Doing = { what: "change" | "split" | "merge"; queue: Queue } | { what: "add"; queue: undefined };
const SHOWN = 6;

export function Queues() {
  const all = useManageWords();
  const words = all.queues;
  const queries = useQueryClient();
  const again = () => void queries.invalidateQueries({ queryKey: ["queues"] });
  const asked = useQuery({ queryKey: ["queues"], queryFn: () => got(api.GET("/danlu/v1/queues")) });
  const queues = asked.data?.queues;
  const [doing, setDoing] = useState<Doing | null>(null);
  const done = () => {
    again();
    setDoing(null);
  };
  const cut = (nodes: string[]) => (nodes.length === 0 ? words.allNodes : nodes.slice(0, SHOWN).join(", ") + (nodes.length > SHOWN ? ` … (${words.count(nodes.length)})` : ""));
  return (
    <Section title={all.admin.tabs["queues"] ?? ""} note={words.note} tools={<button className="button primary" onClick={() => setDoing({ what: "add", queue: undefined })}>{words.add}</button>}>
      <Wrong error={asked.error} />
      <DataTable
        rows={queues}
        keyOf={(queue) => queue.name}
        none=""
        columns={[
          { title: words.name, cell: (queue) => <><b className="breakable">{queue.name}</b> <span className="note">{queue.merged.length > 0 && `+ ${queue.merged.join(", ")}`}</span></> },
          { title: words.nodes, cell: (queue) => cut(queue.nodes) },
          { title: words.order, cell: (queue) => words.orders[queue.order] ?? queue.order, kind: "wide-only" },
          { title: words.waiting, cell: (queue) => queue.waiting, kind: "num" },
          { title: words.running, cell: (queue) => queue.running, kind: "num wide-only" },
          {
            title: all.admin.change,
            kind: "acts",
            cell: (queue) =>
              queue.declared === "file" ? (
                <span className="note">{words.declared["file"]}</span>
              ) : (
                <>
                  <button className="button small" onClick={() => setDoing({ what: "change", queue })}>{words.resize}</button>
                  <button className="button small" onClick={() => setDoing({ what: "split", queue })}>{words.split}</button>
                  {queue.declared === "command" && (
                    <>
                      <button className="button small" disabled={(queues?.length ?? 0) < 2} onClick={() => setDoing({ what: "merge", queue })}>{words.merge}</button>
                      <AskingButton
                        name={all.remove}
                        of={queue.name}
                        body={words.removeAsk(queue.name)}
                        act={() => api.DELETE("/danlu/v1/queues/{name}", { params: { path: { name: queue.name } } })}
                        then={again}
                      />
                    </>
                  )}
                </>
              ),
          },
        ]}
      />
      {doing?.what === "merge" && <Merge queue={doing.queue} others={(queues ?? []).filter((one) => one.name !== doing.queue.name)} done={done} close={() => setDoing(null)} />}
      {doing?.what === "split" && <Split queue={doing.queue} done={done} close={() => setDoing(null)} />}
      {(doing?.what === "change" || doing?.what === "add") && <Edit queue={doing.queue} done={done} close={() => setDoing(null)} />}
    </Section>
  );
}

function useNodeNames(): string[] {
  const nodes = useNodes();
  return [...(nodes?.keys() ?? [])].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
}

function NodeChoice({ names, chosen }: { names: string[]; chosen: string[] }) {
  const words = useManageWords().queues;
  return (
    <fieldset className="choices">
      <legend>{words.nodes}</legend>
      {names.map((name) => (
        <label key={name} className="check">
          <input type="checkbox" name="nodes" value={name} defaultChecked={chosen.includes(name)} />
          {name}
        </label>
      ))}
    </fieldset>
  );
}

function Buttons({ name, pending, close }: { name: string; pending: boolean; close: () => void }) {
  const { cancel } = useManageWords();
  return (
    <div className="row">
      <button className="button primary" disabled={pending}>{name}</button>
      <button className="button" type="button" onClick={close}>{cancel}</button>
    </div>
  );
}

const put = (name: string, body: Schemas["QueueRules"]) => api.PUT("/danlu/v1/queues/{name}", { params: { path: { name } }, body });

function Edit({ queue, done, close }: { queue: Queue | undefined; done: () => void; close: () => void }) {
  const all = useManageWords();
  const words = all.queues;
  const names = useNodeNames();
  const going = useMutation({
    mutationFn: (form: FormData) => {
      const nodes = form.getAll("nodes").map(String);
      return put(queue?.name ?? String(form.get("name")).trim(), {
        // All of them means all there will ever be.
        nodes: nodes.length === 0 || nodes.length === names.length ? null : nodes,
        order: String(form.get("order")),
        backfill: form.get("backfill") !== null,
        priority: Number(form.get("priority")),
      });
    },
    onSuccess: done,
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    going.mutate(new FormData(event.currentTarget));
  };
  const chosen = queue === undefined || queue.nodes.length === 0 ? names : queue.nodes;
  return (
    <Sheet title={queue === undefined ? words.add : words.resizeTitle(queue.name)} close={close}>
      <form className="stack" onSubmit={submit}>
        {queue === undefined && (
          <Field label={words.name}>
            <input className="input" name="name" required maxLength={64} autoComplete="off" />
          </Field>
        )}
        <NodeChoice names={names} chosen={chosen} />
        <div className="form-row">
          <Field label={words.order}>
            <select className="input" name="order" defaultValue={queue?.order ?? "fifo"}>
              {Object.entries(words.orders).map(([key, name]) => <option key={key} value={key}>{name}</option>)}
            </select>
          </Field>
          <Field label={words.priority}>
            <input className="input" name="priority" type="number" min={-1000} max={1000} defaultValue={queue?.priority ?? 0} />
          </Field>
        </div>
        <label className="check">
          <input type="checkbox" name="backfill" defaultChecked={queue?.backfill ?? true} />
          {words.backfill}
        </label>
        <Wrong error={going.error} />
        <Buttons name={all.admin.save} pending={going.isPending} close={close} />
      </form>
    </Sheet>
  );
}

function Split({ queue, done, close }: { queue: Queue; done: () => void; close: () => void }) {
  const words = useManageWords().queues;
  const every = useNodeNames();
  const names = queue.nodes.length === 0 ? every : queue.nodes;
  const [wrong, setWrong] = useState("");
  const going = useMutation({
    mutationFn: async ({ name, leave }: { name: string; leave: string[] }) => {
      await put(name, { nodes: leave, order: queue.order });
      await put(queue.name, { nodes: names.filter((node) => !leave.includes(node)) });
    },
    onSuccess: done,
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const leave = form.getAll("nodes").map(String);
    if (leave.length === 0) setWrong(words.chooseNodes);
    else if (leave.length === names.length) setWrong(words.leaveNodes);
    else {
      setWrong("");
      going.mutate({ name: String(form.get("name")).trim(), leave });
    }
  };
  return (
    <Sheet title={words.splitTitle(queue.name)} close={close}>
      <form className="stack" onSubmit={submit}>
        <p>{words.splitNote(queue.name)}</p>
        <Field label={words.newName}>
          <input className="input" name="name" required maxLength={64} autoComplete="off" />
        </Field>
        <NodeChoice names={names} chosen={[]} />
        {wrong !== "" && <p className="problem" role="alert">{wrong}</p>}
        <Wrong error={going.error} />
        <Buttons name={words.split} pending={going.isPending} close={close} />
      </form>
    </Sheet>
  );
}

function Merge({ queue, others, done, close }: { queue: Queue; others: Queue[]; done: () => void; close: () => void }) {
  const words = useManageWords().queues;
  const going = useMutation({
    mutationFn: (into: string) => api.POST("/danlu/v1/queues/{name}/merge", { params: { path: { name: queue.name } }, body: { into } }),
    onSuccess: done,
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    going.mutate(String(new FormData(event.currentTarget).get("into")));
  };
  return (
    <Sheet title={words.mergeTitle(queue.name)} close={close}>
      <form className="stack" onSubmit={submit}>
        <p>{words.mergeNote(queue.name)}</p>
        <Field label={words.into}>
          <select className="input" name="into">
            {others.map((one) => <option key={one.name}>{one.name}</option>)}
          </select>
        </Field>
        <Wrong error={going.error} />
        <Buttons name={words.merge} pending={going.isPending} close={close} />
      </form>
    </Sheet>
  );
}
