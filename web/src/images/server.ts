import { useQuery } from "@tanstack/react-query";
import { api, got } from "../api/client";

export interface Registry {
  host: string;
  plain: boolean;
  readOnly: boolean;
}

/** The server's own registry; undefined: not known yet, null: it has none. */
export function useRegistry(): Registry | null | undefined {
  const asked = useQuery({ queryKey: ["server"], queryFn: () => got(api.GET("/danlu/v1/server")), staleTime: 600_000 });
  return asked.data === undefined ? undefined : null;
}
