import { useQuery } from "@tanstack/react-query";
import { api, got, Refusal, type Schemas } from "../api/client";

export type Registry = Schemas["RegistryStatus"];

/** The server's own registry; undefined: not known yet, null: it has none, or it does not answer. */
export function useRegistry(): Registry | null | undefined {
  const asked = useQuery({ queryKey: ["registry"], queryFn: () => got(api.GET("/danlu/v1/registry")), staleTime: 60_000 });
  if (asked.data !== undefined) return asked.data.address === "" ? null : asked.data;
  return asked.error instanceof Refusal ? null : undefined;
}
