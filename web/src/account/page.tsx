import { useEffect } from "react";
import { useLocation } from "react-router";
import { useMe } from "../api/session";
import { useLanguage } from "../i18n";
import { useManageWords } from "../i18n/manage";
import { Section, Segments } from "../ui/manage";
import { chooseTheme, useTheme } from "../ui/theme";
import { Keys } from "./keys";
import { PasswordForm } from "./password";
import { Sessions } from "./sessions";
import { Tokens } from "./tokens";

export default function AccountPage() {
  const { lang, words: all, choose } = useLanguage();
  const words = useManageWords().account;
  const me = useMe();
  const theme = useTheme();
  useEffect(() => {
    document.title = `${words.title} · ${all.name}`;
  }, [words, all]);
  const { hash } = useLocation();
  useEffect(() => {
    if (hash === "#password") document.querySelector<HTMLInputElement>("#password input")?.focus();
  }, [hash]);
  const groups = me.groups.join(lang === "zh" ? "、" : ", ") || words.noGroups;
  return (
    <>
      <div className="page-head">
        <h1>{words.title}</h1>
      </div>
      <div className="manage-grid">
        <div className="stack">
          <Section title={words.who}>
            <dl className="facts body">
              <dt>{all.signIn.user}</dt>
              <dd className="breakable">{me.user}</dd>
              <dt>{words.role}</dt>
              <dd>{words.roles[me.role] ?? me.role}</dd>
              <dt>{words.groups}</dt>
              <dd>{groups}{me.leads.length > 0 && words.leads(me.leads.join(", "))}</dd>
            </dl>
          </Section>
          <Section title={words.password} note={words.passwordNote}>
            <PasswordForm />
          </Section>
          <Section title={words.looks}>
            <div className="body form-row">
              <div className="field">
                <span>{words.language}</span>
                <Segments label={words.language} value={lang} choices={[["zh", "中文"], ["en", "English"]]} choose={choose} />
              </div>
              <div className="field">
                <span>{words.theme}</span>
                <Segments label={words.theme} value={theme} choices={[["dark", words.dark], ["light", words.light]]} choose={chooseTheme} />
              </div>
            </div>
          </Section>
        </div>
        <div className="stack">
          <Keys />
          <Tokens />
          <Sessions />
        </div>
      </div>
    </>
  );
}
