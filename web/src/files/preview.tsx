import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { api, got } from "../api/client";
import { useWords } from "../i18n";
import { useFileWords } from "../i18n/files";
import { CopyButton } from "../ui/copy";
import { Cross, Down } from "../ui/icons";
import { Problem } from "../ui/problem";
import { clock } from "../ui/time";
import { size } from "../ui/values";
import { contentAddress, isFolder, type Entry, type Preview } from "./asks";
import { Kind } from "./kind";

const SOME = 262_144; // bytes that are shown of a text
const PICTURE = 64 * 1_048_576; // bytes; larger ones would stop the browser
const LOGS = /(\.(log|out|err)|(^|\/)(stdout|stderr|nohup\.out))$/i;
const FOLLOW = 2000; // milliseconds

/** What is inside of a file, beside the list. */
export default function FilePreview({ entry, close }: { entry: Entry; close: () => void }) {
  const words = useFileWords();
  return (
    <section className="card preview" aria-label={words.preview.title}>
      <div className="head">
        <h2 className="cut" title={entry.name}>
          <Kind entry={entry} />
          {entry.name}
        </h2>
        <button className="button small plain" aria-label={words.close} onClick={close}><Cross /></button>
      </div>
      {!isFolder(entry) && entry.kind !== "other" && <Inside key={`${entry.path} ${entry.modified_at} ${entry.size}`} entry={entry} />}
      {entry.kind === "other" && <p className="none">{words.preview.other}</p>}
      <Facts entry={entry} />
    </section>
  );
}

function Facts({ entry }: { entry: Entry }) {
  const words = useFileWords();
  const { time } = useWords();
  const rows: [string, string][] = [
    [words.facts.kind, words.kinds[entry.kind] ?? entry.kind],
    ...(isFolder(entry) ? [] : [[words.facts.size, size(entry.size)] as [string, string]]),
    [words.facts.modified, clock(entry.modified_at, time)],
    [words.facts.owner, entry.owner],
    [words.facts.mode, entry.mode],
    ...(entry.target == null ? [] : [[words.facts.target, entry.target] as [string, string]]),
  ];
  return (
    <div className="body file-facts">
      <dl>
        {rows.map(([key, value]) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd className="breakable">{value}</dd>
          </div>
        ))}
        <div>
          <dt>{words.facts.path}</dt>
          <dd className="breakable mono">{entry.path}</dd>
        </div>
      </dl>
      <div className="row wrap">
        <CopyButton text={entry.path} name={words.acts.copyPath} done={words.acts.copied} label={`${words.acts.copyPath}: ${entry.path}`} />
        {!isFolder(entry) && entry.kind !== "other" && (
          <a className="button small" href={contentAddress(entry.path)} download="">
            <Down />
            {words.acts.download}
          </a>
        )}
      </div>
    </div>
  );
}

function Inside({ entry }: { entry: Entry }) {
  const log = LOGS.test(entry.path);
  const [tail, setTail] = useState(log);
  const [follow, setFollow] = useState(log);
  const asked = useQuery({
    queryKey: ["files", "preview", entry.path, tail],
    queryFn: () => got(api.GET("/danlu/v1/files/preview", { params: { query: { path: entry.path, ...(tail ? { tail: SOME } : {}) } } })),
    refetchInterval: (query) => (tail && follow && query.state.data?.kind === "text" ? FOLLOW : false),
    staleTime: 5_000,
  });
  const found = asked.data;
  if (asked.error !== null && found === undefined) return <div className="body"><Problem error={asked.error} retry={() => void asked.refetch()} /></div>;
  if (found === undefined) return <div className="preview-wait" aria-busy="true" />;
  if (found.kind === "image") return <Picture entry={entry} />;
  if (found.kind === "notebook") return <Notebook found={found} />;
  return <Text {...{ found, tail, setTail, follow, setFollow }} />;
}

function Picture({ entry }: { entry: Entry }) {
  const words = useFileWords().preview;
  const [failed, setFailed] = useState(false);
  if (entry.size > PICTURE) return <p className="none">{words.tooLarge}</p>;
  if (failed) return <p className="none" role="status">{words.imageFailed}</p>;
  return (
    <div className="picture">
      <img src={contentAddress(entry.path, true)} alt={words.image(entry.name)} onError={() => setFailed(true)} />
    </div>
  );
}

interface Shown {
  found: Preview;
  tail: boolean;
  setTail: (tail: boolean) => void;
  follow: boolean;
  setFollow: (follow: boolean) => void;
}

function Text({ found, tail, setTail, follow, setFollow }: Shown) {
  const words = useFileWords().preview;
  const box = useRef<HTMLPreElement>(null);
  const [wrap, setWrap] = useState(false);
  const text = found.text ?? "";
  useEffect(() => {
    if (tail && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [tail, text]);
  if (found.kind === "binary") return <p className="none">{words.binary}</p>;
  if (found.size === 0) return <p className="none">{words.emptyFile}</p>;
  const bytes = size(Math.min(SOME, found.size));
  return (
    <>
      <div className="preview-tools">
        {(!found.complete || tail) && (
          <div className="segments" role="group" aria-label={words.title}>
            <button type="button" aria-pressed={!tail} onClick={() => setTail(false)}>{words.start}</button>
            <button type="button" aria-pressed={tail} onClick={() => setTail(true)}>{words.end}</button>
          </div>
        )}
        {tail && (
          <label className="check">
            <input type="checkbox" checked={follow} onChange={(event) => setFollow(event.target.checked)} />
            {words.follow}
          </label>
        )}
        <label className="check">
          <input type="checkbox" checked={wrap} onChange={(event) => setWrap(event.target.checked)} />
          {words.wrap}
        </label>
        {!found.complete && <span className="note">{tail ? words.tail(bytes, size(found.size)) : words.part(bytes, size(found.size))}</span>}
      </div>
      <pre ref={box} className={wrap ? "text wraps" : "text"} tabIndex={0} aria-label={words.title}>{text}</pre>
    </>
  );
}

/** Its cells as they are written: nothing of it is run or taken for HTML. */
function Notebook({ found }: { found: Preview }) {
  const words = useFileWords().preview;
  return (
    <div className="notebook" tabIndex={0} role="region" aria-label={words.title}>
      {(found.cells ?? []).map((cell, at) => (
        <div key={at} className={`cell ${cell.kind}`}>
          {cell.kind === "code" && <span className="number">{words.cell(String(cell.number ?? " "))}</span>}
          <pre>{cell.source}</pre>
          {cell.texts?.map((text, number) => <pre key={number} className="output">{plain(text)}</pre>)}
          {cell.images?.map((image, number) => <img key={number} src={image} alt={words.output} />)}
        </div>
      ))}
    </div>
  );
}

/** Without the colours that a terminal would show. */
const plain = (text: string) => text.replace(/\u001b\[[0-9;]*[A-Za-z]/g, "");
