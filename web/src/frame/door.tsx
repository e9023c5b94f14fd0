import type { FormEvent, ReactNode } from "react";
import { useLanguage } from "../i18n";
import { Logo, Sun } from "../ui/icons";
import { chooseTheme, useTheme } from "../ui/theme";
import { DemoBar } from "./demo";
import "./door.css";

/** What stands before the pages: one form in the middle. */
export function Door({ title, onSubmit, children }: { title: string; onSubmit: () => void; children: ReactNode }) {
  const { lang, words, choose } = useLanguage();
  const theme = useTheme();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <main className="door">
      <DemoBar />
      <div className="brand">
        <Logo size={32} />
        {words.name}
      </div>
      <form className="card" onSubmit={submit}>
        <h1>{title}</h1>
        {children}
      </form>
      <div className="foot">
        <button className="button small plain" lang={lang === "zh" ? "en" : "zh"} onClick={() => choose(lang === "zh" ? "en" : "zh")}>
          {words.top.language}
        </button>
        <button className="button small plain" onClick={() => chooseTheme(theme === "dark" ? "light" : "dark")}>
          <Sun />
          {words.top.theme(theme === "dark")}
        </button>
      </div>
    </main>
  );
}
