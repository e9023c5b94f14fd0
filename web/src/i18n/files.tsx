import { useLanguage } from ".";
import { filesEn, type FileWords } from "./files-en";
import { filesZh } from "./files-zh";

/** The words of the pages about files; loaded with these pages. */
export function useFileWords(): FileWords {
  return useLanguage().lang === "zh" ? filesZh : filesEn;
}
