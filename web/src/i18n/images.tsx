import { useLanguage } from ".";
import { imagesEn, type ImageWords } from "./images-en";
import { imagesZh } from "./images-zh";

/** The words of the pages about images; loaded with these pages. */
export function useImageWords(): ImageWords {
  return useLanguage().lang === "zh" ? imagesZh : imagesEn;
}
