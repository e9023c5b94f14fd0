import { useQuery } from "@tanstack/react-query";
import { api, got } from "../api/client";

const HALF_AN_HOUR = 1800;
const POINTS = 30;

/** The last half hour of each GPU of a node, in percent. Looked up again every minute. */
export function useRecent(node: string, there: boolean): ReadonlyMap<number, readonly number[]> | undefined {
  const { data } = useQuery({
    queryKey: ["recent", node],
    enabled: there,
    refetchInterval: 60_000,
    staleTime: 55_000,
    queryFn: async () => {
      const since = Date.now() / 1000 - HALF_AN_HOUR;
      const path = { name: node };
      const found = await got(api.GET("/danlu/v1/nodes/{name}/metrics", { params: { path, query: { since, points: POINTS } } }));
      return new Map(
        found.gpus.map((gpu) => {
          const line = gpu.series.find((series) => series.name === "gpu")?.mean ?? [];
          return [gpu.index, line.filter((value) => value !== null).map((value) => Math.round(100 * value))] as const;
        }),
      );
    },
  });
  return data;
}

const WIDTH = 100;
const HEIGHT = 22;

export function Line({ values }: { values: readonly number[] | undefined }) {
  if (values === undefined || values.length < 2) return null;
  const step = WIDTH / (values.length - 1);
  const at = values.map((value, index) => `${(index * step).toFixed(1)},${(HEIGHT - 1 - (value / 100) * (HEIGHT - 2)).toFixed(1)}`);
  return (
    <svg className="recent" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path d={`M0,${HEIGHT} L${at.join(" L")} L${WIDTH},${HEIGHT}Z`} />
      <polyline points={at.join(" ")} />
    </svg>
  );
}
