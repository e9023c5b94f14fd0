import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, got, type Schemas } from "../api/client";
import type { Me } from "../api/session";

export type Image = Schemas["Image"];
export type Detail = Schemas["ImageDetail"];
export type Which = "all" | "ready" | "own" | "shared" | "proposed";

const OFTEN = 2_000; // milliseconds, while something is pulled, tried or read
const SELDOM = 30_000;

const moves = (found: Image) => found.verified === "running" || found.nodes.some((node) => node.state === "pulling");

export function useImages() {
  return useQuery({
    queryKey: ["images", "list"],
    queryFn: async () => (await got(api.GET("/danlu/v1/images"))).images,
    refetchInterval: (query) => (query.state.data?.some(moves) ? OFTEN : SELDOM),
  });
}

export function useImage(image: string) {
  return useQuery({
    queryKey: ["images", "one", image],
    queryFn: () => got(api.GET("/danlu/v1/images/{image}", { params: { path: { image } } })),
    refetchInterval: (query) => {
      const found = query.state.data;
      return found !== undefined && (moves(found) || found.inside?.packages_state === "reading") ? OFTEN : SELDOM;
    },
  });
}

export function useAgain() {
  const queries = useQueryClient();
  return () => void queries.invalidateQueries({ queryKey: ["images"] });
}

export const pathOf = (found: Image) => `/images/${encodeURIComponent(found.id)}`;
export const named = (found: Image) => ({ params: { path: { image: found.id } } });

/** What somebody may do; the server decides, this only spares them what it would refuse. */
export function mayOf(found: Image, me: Me) {
  const admin = me.role === "admin";
  const own = found.owner === me.user && !found.ready;
  return { change: own || admin, share: (own || admin) && !found.ready, propose: own && found.proposal !== "proposed" && found.proposal !== "accepted", decide: admin && found.proposal === "proposed", pull: own || admin };
}

/** Whether it belongs to a choice of the list. */
export function isOf(found: Image, which: Which, me: Me): boolean {
  if (which === "ready") return found.ready;
  if (which === "own") return found.owner === me.user && !found.ready;
  if (which === "shared") return found.owner !== me.user && !found.ready;
  return which === "all" || found.proposal === "proposed";
}
