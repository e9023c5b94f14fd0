import { Book, Box, Chain, Folder, Lines, Paper, Picture, Question } from "../ui/icons";
import { isFolder, type Entry } from "./asks";

const ENDINGS: [RegExp, typeof Paper][] = [
  [/\.(png|jpe?g|gif|webp|bmp|tiff?|svg|ico)$/i, Picture],
  [/\.(zip|tar|t?gz|bz2|xz|zst|7z|whl|safetensors|pt|pth|ckpt|npz|h5|hdf5)$/i, Box],
  [/\.ipynb$/i, Book],
  [/\.(txt|md|rst|log|out|err|csv|tsv|json|jsonl|ya?ml|toml|ini|cfg|conf|py|sh|r|jl|c|h|cc|cpp|hpp|cu|cuh|java|go|rs|js|ts|tsx|css|html|xml|tex|bib|sql)$/i, Lines],
];

/** What something is, by its shape. */
export function Kind({ entry }: { entry: Pick<Entry, "kind" | "name"> & Partial<Entry> }) {
  const Icon = isFolder(entry as Entry)
    ? Folder
    : entry.kind === "other"
      ? Question
      : entry.kind === "link"
        ? Chain
        : (ENDINGS.find(([pattern]) => pattern.test(entry.name))?.[1] ?? Paper);
  return <Icon className={isFolder(entry as Entry) ? "kind folder" : "kind"} />;
}
