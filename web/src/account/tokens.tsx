import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { api, got } from "../api/client";
import { useWords } from "../i18n";
import { useManageWords } from "../i18n/manage";
import { AskingButton, Field, Once, Section, Wrong } from "../ui/manage";
import { Problem } from "../ui/problem";
import { clock } from "../ui/time";

const DAYS = [7, 30, 90, 365];

export function Tokens() {
  const { time } = useWords();
  const all = useManageWords();
  const words = all.account;
  const queries = useQueryClient();
  const again = () => void queries.invalidateQueries({ queryKey: ["tokens"] });
  const [secret, setSecret] = useState("");
  const asked = useQuery({ queryKey: ["tokens"], queryFn: () => got(api.GET("/danlu/v1/tokens")) });
  const tokens = asked.data?.tokens.filter((token) => token.kind === "personal");
  const make = useMutation({
    mutationFn: (form: FormData) =>
      got(
        api.POST("/danlu/v1/tokens", {
          body: { label: String(form.get("label")).trim(), scope: String(form.get("scope")), expires_in: Number(form.get("days")) * 86_400 },
        }),
      ),
    onSuccess: (made) => {
      setSecret(made.token);
      again();
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    make.mutate(new FormData(form), { onSuccess: () => form.reset() });
  };
  if (asked.error !== null) return <Problem error={asked.error} retry={() => void asked.refetch()} />;
  return (
    <Section title={words.tokens} note={words.tokensNote}>
      {tokens !== undefined && tokens.length > 0 ? (
        <div className="list">
          <table className="table">
            <thead>
              <tr>
                <th>{words.label}</th>
                <th>{words.scope}</th>
                <th className="wide-only">{words.used}</th>
                <th className="wide-only">{words.expires}</th>
                <th><span className="hidden-text">{words.endToken}</span></th>
              </tr>
            </thead>
            <tbody>
              {tokens.map((token) => (
                <tr key={token.id}>
                  <td className="breakable">{token.label || words.unnamed}</td>
                  <td>{words.scopes[token.scope] ?? token.scope}</td>
                  <td className="wide-only">{token.last_used_at === null ? all.never : clock(token.last_used_at, time)}</td>
                  <td className="wide-only">{token.expires_at === null ? all.never : clock(token.expires_at, time)}</td>
                  <td className="acts">
                    <AskingButton
                      name={words.endToken}
                      of={token.label || words.unnamed}
                      body={words.endTokenAsk(token.label || words.unnamed)}
                      act={() => api.DELETE("/danlu/v1/tokens/{id}", { params: { path: { id: token.id } } })}
                      then={again}
                    />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <p className="none" aria-busy={tokens === undefined}>{tokens === undefined ? all.loading : words.noTokens}</p>
      )}
      <form className="body" onSubmit={submit}>
        <Field label={words.label}>
          <input className="input" name="label" required maxLength={200} />
        </Field>
        <Field label={words.scope}>
          <select className="input" name="scope">
            {Object.entries(words.scopes).map(([key, name]) => <option key={key} value={key}>{name}</option>)}
          </select>
        </Field>
        <Field label={words.lasts}>
          <select className="input" name="days" defaultValue={90}>
            {DAYS.map((days) => <option key={days} value={days}>{words.days(days)}</option>)}
          </select>
        </Field>
        <button className="button" disabled={make.isPending}>{words.makeToken}</button>
        <Wrong error={make.error} />
      </form>
      {secret !== "" && <Once title={words.madeToken} secret={secret} close={() => setSecret("")} />}
    </Section>
  );
}
