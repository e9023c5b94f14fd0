import { useWords } from "../i18n";
import type { Cell } from "./model";

/** What a GPU is doing, in a few words: for those who do not see the picture. */
export function useWhat(me: string) {
  const words = useWords().map;
  return ({ kind, gpu, use }: Cell): string => {
    const job = gpu.jobs.join(", ") || gpu.job || "";
    if (kind === "idle") return `${job}, ${words.idle}`;
    if (kind === "mine" || kind === "others") return use?.[0] == null ? job : `${job}, ${words.busyNow(use[0])}`;
    if (kind === "reserved") {
      const whom = gpu.kept_for?.split("/")[0] ?? "";
      return whom === me ? words.heldForYou : words.heldFor(whom);
    }
    if (kind === "outside" && gpu.outside != null) return words.outsideJob(gpu.outside.user, gpu.outside.engine, gpu.outside.id, gpu.outside.name);
    return { free: words.free, drained: words.drained, down: words.sick, outside: words.legend.outside, silent: words.silent }[kind] + (gpu.note ? `, ${gpu.note}` : "");
  };
}
