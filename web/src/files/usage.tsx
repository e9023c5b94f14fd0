import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, got } from "../api/client";
import { useWords } from "../i18n";
import { useFileWords } from "../i18n/files";
import { Problem } from "../ui/problem";
import { Sheet } from "../ui/sheet";
import { clock } from "../ui/time";
import { size } from "../ui/values";
import { nameOf } from "./paths";

const AGAIN = 1000; // milliseconds, while it is counted
const MOST = 50;

/** How large a folder is, and what in it. */
export function Usage({ path, close }: { path: string; close: () => void }) {
  const words = useFileWords();
  const { time } = useWords();
  const [fresh, setFresh] = useState(0);
  const asked = useQuery({
    queryKey: ["files", "usage", path, fresh],
    queryFn: ({ client, queryKey }) => {
      // Only the first question of a new count begins one.
      const begun = client.getQueryData(queryKey) !== undefined;
      return got(api.GET("/danlu/v1/files/usage", { params: { query: { path, fresh: fresh > 0 && !begun } } }));
    },
    refetchInterval: (query) => (query.state.data?.operation != null ? AGAIN : false),
  });
  const found = asked.data;
  const largest = Math.max(1, ...(found?.children.map((child) => child.size) ?? []));
  return (
    <Sheet title={words.usage.title(nameOf(path))} close={close}>
      {asked.error !== null && found === undefined ? (
        <Problem error={asked.error} retry={() => void asked.refetch()} />
      ) : found === undefined || found.measured_at === null ? (
        <p role="status" aria-busy="true">{words.usage.counting}</p>
      ) : (
        <div className="stack">
          <p className="sentence" role="status">{words.usage.total(size(found.size), words.files(found.files), words.usage.folders(found.folders))}</p>
          <ul className="sizes">
            {found.children.slice(0, MOST).map((child) => (
              <li key={child.name}>
                <span className="cut" title={child.name}>{child.name}</span>
                <span className="meter"><i style={{ width: `${(child.size / largest) * 100}%` }} /></span>
                <span className="num">{size(child.size)}</span>
              </li>
            ))}
          </ul>
          <div className="row wrap">
            <span className="note grow">
              {words.usage.at(clock(found.measured_at, time))}
              {!found.complete && ` · ${words.usage.partly}`}
            </span>
            <button className="button small" disabled={found.operation !== null} onClick={() => setFresh(fresh + 1)}>
              {found.operation !== null ? words.usage.counting : words.usage.again}
            </button>
          </div>
        </div>
      )}
    </Sheet>
  );
}
