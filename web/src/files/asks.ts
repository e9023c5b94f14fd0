import { keepPreviousData, useQueries, useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { api, got, type Schemas } from "../api/client";

export type Entry = Schemas["FileEntry"];
export type Root = Schemas["FileRoot"];
export type Operation = Schemas["FileOperation"];
export type BinItem = Schemas["BinItem"];
export type Preview = Schemas["FilePreview"];

export const PAGE = 200;
const BASE = "/danlu/v1/files";
export const UPLOADS = `${BASE}/uploads`;

/** What a link leads to counts, where it leads somewhere. */
export const isFolder = (entry: Entry) => entry.kind === "folder" || entry.target_kind === "folder";

export function useRoots() {
  return useQuery({ queryKey: ["files", "roots"], queryFn: () => got(api.GET("/danlu/v1/files/roots")), staleTime: 30_000 });
}

export interface View {
  path: string;
  sort: string;
  hidden: boolean;
}

/** The first entries, for whoever wants to know whether it is a folder. */
export function useFirstPage(view: View, enabled: boolean) {
  return useQuery({ ...page(view, 0), enabled });
}

function page({ path, sort, hidden }: View, number: number) {
  return {
    queryKey: ["files", "list", path, sort, hidden, number],
    queryFn: () => got(api.GET("/danlu/v1/files/list", { params: { query: { path, sort, hidden, offset: number * PAGE, limit: PAGE } } })),
    staleTime: 10_000,
    // What somebody else does there is seen soon, and only of the pages that are shown.
    // A very large folder is shown before it is read to its end.
    refetchInterval: (query: { state: { data?: Schemas["FileList"] | undefined } }) => (query.state.data?.reading === true ? 1_000 : 20_000),
  };
}

/** Some pages of a folder, those that are shown; a folder may have a million entries. */
export function useFolder(view: View, numbers: number[]) {
  const first = useQuery(page(view, 0));
  const rest = useQueries({ queries: numbers.filter((number) => number > 0).map((number) => page(view, number)) });
  const pages = new Map<number, Entry[]>();
  if (first.data !== undefined) pages.set(0, first.data.entries);
  for (const one of rest) if (one.data !== undefined) pages.set(one.data.offset / PAGE, one.data.entries);
  const latest = rest.find((one) => one.data !== undefined && one.dataUpdatedAt > first.dataUpdatedAt)?.data ?? first.data;
  return { first, latest, entryAt: (at: number) => pages.get(Math.floor(at / PAGE))?.[at % PAGE] };
}

/** What a list has told need not be asked again. */
export function useKnown() {
  const queries = useQueryClient();
  return (entry: Entry) => void queries.setQueryData(["files", "stat", entry.path], entry);
}

export function useStat(path: string, enabled: boolean) {
  return useQuery({
    queryKey: ["files", "stat", path],
    queryFn: () => got(api.GET("/danlu/v1/files/stat", { params: { query: { path } } })),
    enabled,
    staleTime: 10_000,
  });
}

/** The folders inside of one, for the tree; of a very large folder the first. */
export function useFolders(path: string, enabled: boolean) {
  return useQuery({
    queryKey: ["files", "folders", path],
    queryFn: async () => {
      const query = { path, sort: "name", hidden: false, offset: 0, limit: PAGE };
      return (await got(api.GET("/danlu/v1/files/list", { params: { query } }))).entries.filter(isFolder);
    },
    enabled,
    staleTime: 10_000,
    placeholderData: keepPreviousData,
  });
}

export function useBin() {
  return useQuery({ queryKey: ["files", "bin"], queryFn: () => got(api.GET("/danlu/v1/files/bin")) });
}

/** After something was changed, by whatever way. */
export function changed(queries: QueryClient): void {
  void queries.invalidateQueries({ queryKey: ["files"] });
}

export function contentAddress(path: string, inline = false): string {
  return `${BASE}/content?${new URLSearchParams({ path, ...(inline ? { inline: "true" } : {}) })}`;
}

export function archiveAddress(paths: readonly string[], format: "tar" | "zip"): string {
  return `${BASE}/archive?${new URLSearchParams([...paths.map((path): [string, string] => ["path", path]), ["format", format]])}`;
}

/** Longer addresses are not taken by every server in between. */
export const LONGEST = 7000;
export const MOST_PATHS = 100; // of an archive

const missing = (error: unknown) => (error as { status?: number }).status === 404;

export async function exists(path: string): Promise<boolean> {
  try {
    await got(api.GET("/danlu/v1/files/stat", { params: { query: { path } } }));
    return true;
  } catch (error) {
    if (missing(error)) return false;
    throw error;
  }
}
