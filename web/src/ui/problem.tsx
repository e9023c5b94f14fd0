import { Component, type ReactNode } from "react";
import { Link } from "react-router";
import { Refusal } from "../api/client";
import { useLanguage, useWords } from "../i18n";
import { Warn } from "./icons";

/** What went wrong, in the reader's words. */
export function useProblem() {
  const { lang, words } = useLanguage();
  return (error: unknown): string => {
    if (!(error instanceof Refusal)) return error ? words.top.away : "";
    const told = error.details.map((detail) => (lang === "zh" ? detail.message_zh : detail.message_en));
    return [lang === "zh" ? error.zh : error.en, ...told].join(lang === "zh" ? "；" : "; ");
  };
}

export function Problem({ error, retry }: { error: unknown; retry?: () => void }) {
  const words = useWords();
  const said = useProblem();
  const status = error instanceof Refusal ? error.status : 0;
  const title = status === 404 ? words.error.notFoundTitle : status === 403 ? words.error.refused : words.error.title;
  return (
    <div className="notice bad" role="alert">
      <Warn size={20} />
      <div className="grow">
        <b>{title}</b>
        <span>{said(error)}</span>
        {status === 404 && <div className="note">{words.error.notFound}</div>}
      </div>
      {retry && status !== 404 && status !== 403 ? (
        <button className="button small" onClick={retry}>{words.error.retry}</button>
      ) : (
        <Link className="button small" to="/">{words.error.home}</Link>
      )}
    </div>
  );
}

/** A page that breaks says so, and takes nothing else with it. */
export class Guard extends Component<{ children: ReactNode; words: { crash: string; reload: string } }, { broken: boolean }> {
  override state = { broken: false };

  static getDerivedStateFromError() {
    return { broken: true };
  }

  override render() {
    if (!this.state.broken) return this.props.children;
    return (
      <div className="notice bad" role="alert">
        <Warn size={20} />
        <div className="grow">{this.props.words.crash}</div>
        <button className="button small" onClick={() => location.reload()}>{this.props.words.reload}</button>
      </div>
    );
  }
}
