import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState, type ChangeEvent } from "react";
import { useMe } from "../api/session";
import { useFileWords } from "../i18n/files";
import { Folder, Lines, Send } from "../ui/icons";
import { forget, unfinished, urlsOf, type Unfinished } from "../uploads/journal";
import { chosen } from "../uploads/pick";
import type { Picked } from "../uploads/plan";
import { withdraw } from "../uploads/send";
import { useBatches } from "../uploads/batches";
import { size } from "../ui/values";
import { Menu } from "./menu";

/** `take`: what to do with what was chosen. */
export function UploadButton({ take, disabled }: { take: (picked: Picked[]) => void; disabled: boolean }) {
  const words = useFileWords();
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const [menu, setMenu] = useState<{ x: number; y: number } | null>(null);
  const change = (event: ChangeEvent<HTMLInputElement>) => {
    if (event.target.files !== null) take(chosen(event.target.files));
    event.target.value = "";
  };
  return (
    <>
      <button
        type="button"
        className="button primary"
        aria-haspopup="menu"
        aria-expanded={menu !== null}
        disabled={disabled}
        onClick={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          setMenu({ x: box.left, y: box.bottom + 4 });
        }}
      >
        <Send />
        {words.acts.upload}
      </button>
      <input ref={files} type="file" multiple hidden data-upload="files" onChange={change} />
      <input ref={folder} type="file" hidden data-upload="folder" onChange={change} {...{ webkitdirectory: "" }} />
      {menu !== null && (
        <Menu
          label={words.acts.upload}
          at={menu}
          close={() => setMenu(null)}
          items={[
            { name: words.acts.uploadFiles, icon: <Lines />, act: () => files.current?.click() },
            { name: words.acts.uploadFolder, icon: <Folder />, act: () => folder.current?.click() },
          ]}
        />
      )}
    </>
  );
}

/** Uploads that were interrupted: the browser may not read the files again before they are chosen again. */
export function UnfinishedUploads({ take }: { take: (picked: Picked[], folder: string) => void }) {
  const words = useFileWords().unfinished;
  const me = useMe();
  const queries = useQueryClient();
  const batches = useBatches();
  const asked = useQuery({ queryKey: ["uploads", "unfinished", me.user, batches.length], queryFn: () => unfinished(me.user) });
  const running = new Set(batches.map((batch) => batch.key));
  const open = asked.data?.filter((batch) => !running.has(batch.key)) ?? [];
  if (open.length === 0) return null;
  const discard = async (batch: Unfinished) => {
    const urls = await urlsOf(batch.key);
    await forget(batch.key);
    await Promise.all(urls.map(withdraw));
    await queries.invalidateQueries({ queryKey: ["uploads"] });
  };
  return (
    <section className="notice unfinished" aria-label={words.title}>
      <Send size={20} />
      <div className="grow">
        <b>{words.title}</b>
        <ul>
          {open.map((batch) => (
            <li key={batch.key}>
              <span className="grow breakable">{words.note(batch.title, size(batch.doneBytes), size(batch.bytes), batch.folder)}</span>
              <label className="button small">
                {words.choose}
                <input
                  type="file"
                  multiple
                  className="hidden-text"
                  data-upload="again"
                  onChange={(event) => event.target.files !== null && take(chosen(event.target.files), batch.folder)}
                  {...(batch.tree ? { webkitdirectory: "" } : {})}
                />
              </label>
              <button className="button small" onClick={() => void discard(batch)}>{words.forget}</button>
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}
