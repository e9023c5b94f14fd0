import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { api, got } from "../api/client";
import { useMe } from "../api/session";
import { addressOf } from "../files/paths";
import { useSaid, useWords } from "../i18n";
import { useDataWords } from "../i18n/data";
import { CopyButton } from "../ui/copy";
import { Clock, Cross, Tick, Warn } from "../ui/icons";
import { AskingButton, Wrong } from "../ui/manage";
import { Initials } from "../ui/people";
import { clock } from "../ui/time";
import { size } from "../ui/values";
import { mayOf, named, useAgain, type Dataset } from "./asks";
import { DatasetForm } from "./form";

export function Card({ dataset }: { dataset: Dataset }) {
  const words = useDataWords().datasets;
  const { time } = useWords();
  const said = useSaid();
  const me = useMe();
  const ready = dataset.state === "ready";
  const warning = said(dataset, "warning");
  return (
    <article className="card dataset" id={`dataset-${dataset.name}`}>
      <div className="head">
        <div className="grow">
          <h3>
            <span className="breakable">{dataset.title || dataset.name}</span>
            {!ready && (
              <span className={dataset.state === "rejected" ? "badge bad" : "badge wait"}>
                {dataset.state === "rejected" ? <Cross size={13} /> : <Clock size={13} />}
                {words.states[dataset.state] ?? dataset.state}
              </span>
            )}
          </h3>
          <p className="note">
            {!ready && dataset.proposed_by !== "" ? words.proposedBy(dataset.proposed_by, clock(dataset.created_at, time)) : dataset.title !== "" ? dataset.name : ""}
          </p>
        </div>
      </div>
      <div className="body stack">
        <div className="ssh-line">
          <code>{dataset.path}</code>
          <CopyButton text={dataset.path} name={words.copyPath} done={words.copied} label={`${words.copyPath}: ${dataset.path}`} />
        </div>
        {dataset.state === "rejected" && <p className="problem breakable">{words.rejectedBy(dataset.decided_by)}{dataset.reason === "" ? "" : `: ${dataset.reason}`}</p>}
        {ready && !dataset.usable && <p className="problem"><Warn size={13} /> {words.notUsable}</p>}
        {warning !== "" && <p className="note breakable">{warning}</p>}
        <How text={dataset.how} />
        <Facts dataset={dataset} />
        {(dataset.copies.length > 0 || (ready && me.role === "admin")) && <Copies dataset={dataset} />}
        <Acts dataset={dataset} />
      </div>
    </article>
  );
}

function How({ text }: { text: string }) {
  const words = useDataWords().datasets;
  if (text.trim() === "") return <p className="note">{words.noHow}</p>;
  return (
    <div className="how">
      <h4>{words.how}</h4>
      <pre tabIndex={0} aria-label={words.how}>{text}</pre>
    </div>
  );
}

function Facts({ dataset }: { dataset: Dataset }) {
  const words = useDataWords().datasets;
  const { time } = useWords();
  const measured = dataset.bytes === null ? words.unmeasured : `${size(dataset.bytes)} · ${words.files(dataset.files ?? 0)}`;
  return (
    <dl className="facts-of">
      <div>
        <dt>{words.size}</dt>
        <dd title={dataset.measured_at === null ? undefined : words.measured(clock(dataset.measured_at, time))}>{dataset.measuring ? `${words.measuring} · ${measured}` : measured}</dd>
      </div>
      <div>
        <dt>{words.licence}</dt>
        <dd className="breakable">{dataset.licence || words.noLicence}</dd>
      </div>
      <div>
        <dt>{words.keeper}</dt>
        <dd className="row"><Initials name={dataset.keeper} me={false} /> {dataset.keeper}</dd>
      </div>
      <div>
        <dt>{words.nodes}</dt>
        <dd className="breakable">{dataset.nodes.length === 0 ? words.allNodes : dataset.nodes.join(", ")}</dd>
      </div>
      <div>
        <dd className="wide note">{dataset.everywhere ? words.everywhere : words.onRequest(dataset.name)}</dd>
      </div>
    </dl>
  );
}

function Copies({ dataset }: { dataset: Dataset }) {
  const words = useDataWords().datasets;
  const { time } = useWords();
  const said = useSaid();
  return (
    <div>
      <h4>{words.copies}</h4>
      {dataset.copies.length === 0 && <p className="note">{words.noCopies}</p>}
      <ul className="copies">
        {dataset.copies.map((copy) => (
          <li key={`${copy.node} ${copy.volume}`}>
            {copy.state === "ready" ? <Tick className="go" /> : copy.state === "failed" ? <Cross className="bad" /> : <Clock className="wait" />}
            <b>{copy.node}</b>
            <span className="grow note">
              {copy.state === "copying" && copy.total !== null ? `${words.copyStates[copy.state]} ${size(copy.done)} / ${size(copy.total)}` : (words.copyStates[copy.state] ?? copy.state)}
              {copy.state === "ready" && ` · ${copy.used_at === null ? words.neverUsed : words.usedAt(clock(copy.used_at, time))}`}
              {said(copy, "detail") !== "" && ` · ${said(copy, "detail")}`}
            </span>
            {copy.state === "copying" && copy.total !== null && (
              <span className="meter" role="progressbar" aria-label={`${dataset.name} ${copy.node}`} aria-valuenow={Math.floor((100 * copy.done) / Math.max(1, copy.total))} aria-valuemin={0} aria-valuemax={100}>
                <i style={{ width: `${(100 * copy.done) / Math.max(1, copy.total)}%` }} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Acts({ dataset }: { dataset: Dataset }) {
  const words = useDataWords().datasets;
  const me = useMe();
  const again = useAgain();
  const may = mayOf(dataset, me);
  const [edits, setEdits] = useState(false);
  const [reason, setReason] = useState("");
  const [nodes, setNodes] = useState("");
  const path = named(dataset);
  const accept = useMutation({ mutationFn: () => got(api.POST("/danlu/v1/datasets/{name}/accept", path)), onSuccess: again });
  const measure = useMutation({ mutationFn: () => got(api.POST("/danlu/v1/datasets/{name}/measure", path)), onSuccess: again });
  const list = nodes.split(",").map((node) => node.trim()).filter(Boolean);
  const withdraws = dataset.state !== "ready" && me.role !== "admin";
  return (
    <div className="row wrap acts-of">
      {dataset.state === "ready" && dataset.usable && <Link className="button small" to={addressOf(dataset.path)}>{words.browse}</Link>}
      {may.decide && <button className="button small primary" disabled={accept.isPending} onClick={() => accept.mutate()}>{words.accept}</button>}
      {may.decide && (
        <AskingButton name={words.reject} of={dataset.name} body={words.rejectAsk} act={() => got(api.POST("/danlu/v1/datasets/{name}/reject", { ...path, body: { reason } }))} then={again}>
          <label className="field">
            <span>{words.reason}</span>
            <input className="input" maxLength={200} value={reason} onChange={(event) => setReason(event.target.value)} />
          </label>
        </AskingButton>
      )}
      {may.stage && (
        <AskingButton
          name={words.stage}
          of={dataset.name}
          body={words.stageAsk(dataset.bytes === null ? dataset.name : size(dataset.bytes))}
          act={() => got(api.POST("/danlu/v1/datasets/{name}/stage", { ...path, body: { nodes: list } }))}
          then={again}
        >
          <label className="field">
            <span>{words.stageNodes}</span>
            <input className="input" value={nodes} autoComplete="off" onChange={(event) => setNodes(event.target.value)} />
          </label>
        </AskingButton>
      )}
      {may.stage && dataset.copies.length > 0 && (
        <AskingButton name={words.unstage} of={dataset.name} body={words.unstageAsk} act={() => got(api.DELETE("/danlu/v1/datasets/{name}/stage", path))} then={again} />
      )}
      {may.words && dataset.state === "ready" && <button className="button small" disabled={measure.isPending || dataset.measuring} onClick={() => measure.mutate()}>{words.measure}</button>}
      {may.words && <button className="button small" onClick={() => setEdits(true)}>{words.edit}</button>}
      {may.remove && (
        <AskingButton name={withdraws ? words.withdraw : words.remove} of={dataset.name} body={withdraws ? words.withdrawAsk : words.removeAsk} act={() => got(api.DELETE("/danlu/v1/datasets/{name}", path))} then={again} />
      )}
      <Wrong error={accept.error ?? measure.error} />
      {edits && <DatasetForm dataset={dataset} close={() => setEdits(false)} />}
    </div>
  );
}
