import { useLanguage } from ".";
import { manageEn, type ManageWords } from "./manage-en";
import { manageZh } from "./manage-zh";

/** The words of the pages that manage accounts, groups and the platform; loaded with these pages. */
export function useManageWords(): ManageWords {
  return useLanguage().lang === "zh" ? manageZh : manageEn;
}
