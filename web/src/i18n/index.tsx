import { createContext, useContext, useMemo, useState, type ReactNode } from "react";
import { en, type Words } from "./en";
import { zh } from "./zh";

export type Lang = "en" | "zh";
const CATALOGUES: Record<Lang, Words> = { en, zh };

interface Language {
  lang: Lang;
  words: Words;
  choose: (lang: Lang) => void;
}

const Current = createContext<Language | null>(null);

export function LanguageProvider({ children }: { children: ReactNode }) {
  const [lang, setLang] = useState<Lang>(document.documentElement.lang.startsWith("zh") ? "zh" : "en");
  const value = useMemo<Language>(
    () => ({
      lang,
      words: CATALOGUES[lang],
      choose(next) {
        document.documentElement.lang = next === "zh" ? "zh-CN" : "en";
        keep("danlu.lang", next);
        setLang(next);
      },
    }),
    [lang],
  );
  return <Current.Provider value={value}>{children}</Current.Provider>;
}

export function useLanguage(): Language {
  const found = useContext(Current);
  if (found === null) throw new Error("outside of LanguageProvider");
  return found;
}

export function useWords(): Words {
  return useLanguage().words;
}

/** What the server says in both languages, in the reader's: `said(why, "sentence")`. */
export function useSaid() {
  const { lang } = useLanguage();
  return function said(from: object | undefined | null, key?: string): string {
    const name = key ? `${key}_${lang}` : lang;
    const found = (from as Record<string, unknown> | null | undefined)?.[name];
    return typeof found === "string" ? found : "";
  };
}

export function keep(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Private windows may refuse; the choice then lasts as long as the page.
  }
}
