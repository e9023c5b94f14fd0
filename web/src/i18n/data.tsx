import { useLanguage } from ".";
import { dataEn, type DataWords } from "./data-en";
import { dataZh } from "./data-zh";

/** The words of the pages about datasets and disks; loaded with these pages. */
export function useDataWords(): DataWords {
  return useLanguage().lang === "zh" ? dataZh : dataEn;
}
