import { useState } from "react";
import { useWords } from "../i18n";
import { useImageWords } from "../i18n/images";
import { Section } from "../ui/manage";
import { clock } from "../ui/time";
import { size } from "../ui/values";
import type { Detail } from "./asks";

type Found = NonNullable<Detail["inside"]>;
const SHOWN = 40; // packages of a kind

/** Its system and its packages. */
export function Inside({ image }: { image: Detail }) {
  const words = useImageWords();
  const { time } = useWords();
  const [text, setText] = useState("");
  const { inside } = image;
  const facts: [string, string][] = [
    ...(inside === null ? [] : [[words.os, [inside.os, inside.architecture].filter(Boolean).join(" · ")] as [string, string], [words.user, inside.user || "root"] as [string, string], [words.workdir, inside.workdir || "/"] as [string, string]]),
    [words.size, image.size > 0 ? size(image.size) : words.sizeUnknown],
    [words.ownerLabel, image.owner],
    [words.source, words.sources[image.source] ?? image.source],
    [words.updated, clock(image.updated_at, time)],
    ...(image.digest === "" ? [] : [[words.digest, image.digest] as [string, string]]),
  ];
  const state = inside === null ? "" : (words.packagesState[inside.packages_state] ?? "");
  const any = inside !== null && inside.pip.length + inside.conda.length + inside.deb.length > 0;
  return (
    <Section
      title={words.inside}
      tools={any ? <input className="input find" type="search" aria-label={words.findPackage} placeholder={words.findPackage} value={text} onChange={(event) => setText(event.target.value)} /> : undefined}
    >
      <div className="body stack">
        <dl className="asks">
          {facts.map(([key, value]) => (
            <div key={key}>
              <dt>{key}</dt>
              <dd className="breakable">{value}</dd>
            </div>
          ))}
        </dl>
        {inside === null && <p className="note">{words.insideNone}</p>}
        {state !== "" && <p className="note" role="status">{state}</p>}
        {any && inside !== null && <Packages inside={inside} text={text.trim().toLowerCase()} />}
      </div>
    </Section>
  );
}

function Packages({ inside, text }: { inside: Found; text: string }) {
  const words = useImageWords();
  const kinds: [string, Found["pip"]][] = [[words.python, inside.pip], [words.conda, inside.conda], [words.deb, inside.deb]];
  const found = kinds.map(([title, list]) => [title, list, list.filter((one) => one.name.toLowerCase().includes(text))] as const).filter(([, , some]) => some.length > 0);
  if (found.length === 0) return <p className="note">{words.noPackage}</p>;
  return found.map(([title, list, some]) => (
    <div key={title}>
      <h3>{title} <span className="note">{words.packages(list.length)}</span></h3>
      <ul className="packages">
        {some.slice(0, SHOWN).map((one) => (
          <li key={`${one.name} ${one.version}`}>
            {one.name} <span className="note">{one.version}</span>
          </li>
        ))}
      </ul>
      {some.length > SHOWN && <p className="note">{words.more(some.length - SHOWN)}</p>}
    </div>
  ));
}

export function Layers({ history }: { history: Found["history"] }) {
  const words = useImageWords();
  if (history.length === 0) return null;
  return (
    <Section title={words.layers} note={words.layersNote}>
      <ol className="layers">
        {[...history].reverse().map((layer, at) => (
          <li key={at}>
            <code>{layer.created_by}</code>
            <span className="num">{layer.size > 0 ? size(layer.size) : ""}</span>
          </li>
        ))}
      </ol>
    </Section>
  );
}
