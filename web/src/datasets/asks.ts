import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, got, type Schemas } from "../api/client";
import type { Me } from "../api/session";

export type Dataset = Schemas["Dataset"];

const OFTEN = 2_000; // milliseconds, while something is copied or counted
const SELDOM = 60_000;

const moves = (found: Dataset) => found.measuring || found.copies.some((copy) => copy.state === "copying");

export function useDatasets() {
  return useQuery({
    queryKey: ["datasets"],
    queryFn: async () => (await got(api.GET("/danlu/v1/datasets"))).datasets,
    refetchInterval: (query) => (query.state.data?.some(moves) ? OFTEN : SELDOM),
  });
}

export function useAgain() {
  const queries = useQueryClient();
  return () => void queries.invalidateQueries({ queryKey: ["datasets"] });
}

export const named = (found: Dataset) => ({ params: { path: { name: found.name } } });

/** What somebody may do; the server decides, this only spares them what it would refuse. */
export function mayOf(found: Dataset, me: Me) {
  const admin = me.role === "admin";
  const proposed = found.state !== "ready";
  return { decide: admin && found.state === "proposed", stage: admin && !proposed, words: admin || found.keeper === me.user, remove: admin || (proposed && found.proposed_by === me.user) };
}
