import { useQuery } from "@tanstack/react-query";
import { api, got, type Schemas } from "../api/client";
import type { Me } from "../api/session";

export type Environment = Schemas["EnvironmentView"];

const OFTEN = 2_000; // milliseconds, while it starts or stops
const SELDOM = 15_000; // what no event tells: shares, and whether it is in use

const moves = (found: Environment) => found.state === "starting" || found.state === "stopping";

export function useEnvironments(all: boolean) {
  return useQuery({
    queryKey: ["environments", "list", all],
    queryFn: async () => (await got(api.GET("/danlu/v1/environments", { params: { query: { all } } }))).environments,
    refetchInterval: (query) => (query.state.data?.some(moves) ? OFTEN : SELDOM),
  });
}

export function useEnvironment(name: string) {
  return useQuery({
    queryKey: ["environments", "one", name],
    queryFn: () => got(api.GET("/danlu/v1/environments/{name}", { params: { path: { name } } })),
    refetchInterval: (query) => (query.state.data !== undefined && moves(query.state.data) ? OFTEN : SELDOM),
  });
}

/** As the API and the addresses of pages name it. */
export const refOf = (found: Environment) => `${found.owner}~${found.name}`;
export const pathOf = (found: Environment) => `/environments/${encodeURIComponent(refOf(found))}`;

/** Its name; with its owner where that is somebody else. */
export const shownName = (found: Environment, me: Me) => (found.owner === me.user ? found.name : `${found.owner}/${found.name}`);

/** What somebody may do with it; the server decides, this only spares them what it would refuse. */
export function mayOf(found: Environment, me: Me) {
  const own = found.owner === me.user;
  const change = own || me.role === "admin";
  return { start: own, change, enter: change || found.shared.includes(me.user), leave: !change && found.shared.includes(me.user) };
}

export const isActive = (found: Environment) => found.state !== "stopped";

/** How many GPUs the next start asks for. */
export function gpusAsked(found: Environment): number {
  const asked = found.request["gpus"];
  if (typeof asked === "number") return asked;
  if (typeof asked === "string") return Number(asked.split(":")[0]) || 0;
  const { count, fraction } = (asked ?? {}) as { count?: number; fraction?: number };
  return count ?? fraction ?? 0;
}
