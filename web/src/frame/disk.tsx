import { useQuery } from "@tanstack/react-query";
import { api, got } from "../api/client";
import { useWords } from "../i18n";
import { Warn } from "../ui/icons";
import { clock } from "../ui/time";
import { size } from "../ui/values";

const EVERY = 30_000;

/** The server's disk is full, or almost: since when, and how much is left. */
export function DiskBar() {
  const words = useWords();
  const { data } = useQuery({
    queryKey: ["server"],
    queryFn: () => got(api.GET("/danlu/v1/server")),
    refetchInterval: EVERY,
  });
  if (data?.disk_low_since == null) return null;
  const full = data.disk_full_since;
  const since = clock(full ?? data.disk_low_since, words.time);
  return (
    <div className="notice bad disk-bar" role="alert">
      <Warn size={20} />
      <div className="grow">
        <b>{full == null ? words.disk.low(since) : words.disk.full(since)}</b>
        <span>
          {words.disk.left(size(data.disk_free ?? 0))} {full == null ? words.disk.tidy : words.disk.refused}
        </span>
      </div>
    </div>
  );
}
