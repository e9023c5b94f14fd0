import { keepPreviousData, useQueries } from "@tanstack/react-query";
import { Refusal } from "../api/client";
import { useNodes } from "../api/stream";
import { useWords } from "../i18n";
import { Cross } from "../ui/icons";
import { toneOf, type Preview } from "./verdict";

interface Trial<T> {
  queryKey: unknown[];
  queryFn: () => Promise<T>;
}

interface Counted<T> {
  value: number | null;
  set: (count: number) => void;
  /** A dry run with so many GPUs, and what it tells. */
  trial: (count: number) => Trial<T>;
  whyOf: (answer: T) => Preview["why"] | undefined;
}

/** A mistake elsewhere says nothing about how many GPUs could be had. */
function isAboutGpus(error: Error): boolean {
  const keys = error instanceof Refusal ? error.details.map((detail) => detail.key ?? "") : [];
  return error instanceof Refusal && (keys.length === 0 || keys.some((key) => key.split(".").includes("gpus")));
}

/** Each number of GPUs with its verdict, so that the best is seen before it is tried. */
export function Counts<T>({ value, set, trial, whyOf }: Counted<T>) {
  const words = useWords();
  const nodes = useNodes();
  const widest = Math.max(1, ...[...(nodes?.values() ?? [])].map((node) => node.gpus.length));
  const choices = [...new Set([0, 1, 2, 3, 4, widest, 8])].filter((count) => count <= Math.max(widest, 8)).sort((a, b) => a - b).slice(0, 8);
  const tried = useQueries({
    queries: choices.map((count) => ({ ...trial(count), retry: false, staleTime: 15_000, placeholderData: keepPreviousData })),
  });
  return (
    <div className="field wide" role="group" aria-label={words.submit.gpus}>
      <div className="row">
        <span className="label grow">{words.submit.gpus}</span>
        <span className="note">{words.submit.marks}</span>
      </div>
      <div className="counts">
        {choices.map((count, index) => {
          const answer = tried[index]?.data as T | undefined;
          const why = answer === undefined ? undefined : whyOf(answer);
          const error = tried[index]?.error;
          const tone = error ? (isAboutGpus(error) ? "bad" : "") : why === undefined ? "" : toneOf(why);
          const mark = tone === "go" ? words.submit.now : tone === "wait" ? words.submit.later : tone === "bad" ? words.submit.never : "";
          return (
            <button key={count} type="button" aria-pressed={value === count} aria-label={`${words.gpus(count)} ${mark}`} onClick={() => set(count)}>
              {count}
              <i className={tone}>{tone === "bad" && <Cross size={10} />}</i>
            </button>
          );
        })}
      </div>
    </div>
  );
}
