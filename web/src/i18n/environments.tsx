import { useLanguage } from ".";
import { environmentsEn, type EnvironmentWords } from "./environments-en";
import { environmentsZh } from "./environments-zh";

/** The words of the pages about environments; loaded with these pages. */
export function useEnvironmentWords(): EnvironmentWords {
  return useLanguage().lang === "zh" ? environmentsZh : environmentsEn;
}
