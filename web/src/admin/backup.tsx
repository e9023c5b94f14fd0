import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { authorised } from "../api/auth";
import { refusalOf } from "../api/client";
import { useManageWords } from "../i18n/manage";
import { Section, Wrong } from "../ui/manage";
import { size } from "../ui/values";

/** The browser collects the file and saves it once it is whole. */
export function Backup() {
  const words = useManageWords().backup;
  const [homes, setHomes] = useState(false);
  const [bytes, setBytes] = useState(0);
  const going = useMutation({
    mutationFn: async () => {
      setBytes(0);
      const headers = new Headers();
      authorised(headers, "POST");
      const answer = await fetch(`/danlu/v1/backup?homes=${homes}`, { method: "POST", headers });
      if (!answer.ok || answer.body === null) throw await refusalOf(answer);
      const name = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1] ?? "danlu.backup";
      let got = 0;
      const counted = answer.body.pipeThrough(
        new TransformStream<Uint8Array, Uint8Array>({
          transform(chunk, controller) {
            got += chunk.length;
            setBytes(got);
            controller.enqueue(chunk);
          },
        }),
      );
      const url = URL.createObjectURL(await new Response(counted).blob());
      const link = Object.assign(document.createElement("a"), { href: url, download: name });
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    },
  });
  return (
    <Section title={words.title} note={words.note}>
      <div className="body stack">
        <p>{words.secret}</p>
        <label className="check">
          <input type="checkbox" checked={homes} onChange={(event) => setHomes(event.target.checked)} />
          {words.homes}
        </label>
        <div className="row wrap">
          <button className="button primary" disabled={going.isPending} onClick={() => going.mutate()}>{going.isPending ? words.making : words.make}</button>
          <span className="note" role="status">{going.isPending ? words.got(size(bytes)) : going.isSuccess ? words.done(size(bytes)) : ""}</span>
        </div>
        <Wrong error={going.error} />
      </div>
    </Section>
  );
}
