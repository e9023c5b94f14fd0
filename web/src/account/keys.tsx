import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { api, got } from "../api/client";
import { useWords } from "../i18n";
import { useManageWords } from "../i18n/manage";
import { AskingButton, Field, Section, Wrong } from "../ui/manage";
import { Problem } from "../ui/problem";
import { clock } from "../ui/time";

export function Keys() {
  const { time } = useWords();
  const all = useManageWords();
  const words = all.account;
  const queries = useQueryClient();
  const again = () => void queries.invalidateQueries({ queryKey: ["ssh-keys"] });
  const asked = useQuery({ queryKey: ["ssh-keys"], queryFn: () => got(api.GET("/danlu/v1/ssh-keys")) });
  const add = useMutation({
    mutationFn: (form: FormData) =>
      got(api.POST("/danlu/v1/ssh-keys", { body: { key: String(form.get("key")), label: String(form.get("name")) } })),
    onSuccess: again,
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    add.mutate(new FormData(form), { onSuccess: () => form.reset() });
  };
  if (asked.error !== null) return <Problem error={asked.error} retry={() => void asked.refetch()} />;
  const keys = asked.data?.keys;
  return (
    <Section title={words.keys} note={words.keysNote}>
      {keys !== undefined && keys.length > 0 ? (
        <div className="list">
          <table className="table">
            <thead>
              <tr>
                <th>{words.keys}</th>
                <th className="wide-only">{words.created}</th>
                <th><span className="hidden-text">{all.remove}</span></th>
              </tr>
            </thead>
            <tbody>
              {keys.map((key) => (
                <tr key={key.id}>
                  <td className="breakable">
                    {key.label}
                    <div className="note mono">{key.key.split(" ")[0]} {key.fingerprint}</div>
                  </td>
                  <td className="wide-only">{clock(key.created_at, time)}</td>
                  <td className="acts">
                    <AskingButton
                      name={all.remove}
                      of={key.label || key.fingerprint}
                      body={words.removeKeyAsk(key.label || key.fingerprint)}
                      act={() => api.DELETE("/danlu/v1/ssh-keys/{id}", { params: { path: { id: key.id } } })}
                      then={again}
                    />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <p className="none" aria-busy={keys === undefined}>{keys === undefined ? all.loading : words.noKeys}</p>
      )}
      <form className="body" onSubmit={submit}>
        <Field label={words.key}>
          <input className="input mono" name="key" required autoComplete="off" spellCheck={false} placeholder="ssh-ed25519 AAAA…" />
        </Field>
        <Field label={words.keyLabel}>
          <input className="input" name="name" maxLength={200} autoComplete="off" />
        </Field>
        <button className="button" disabled={add.isPending}>{words.addKey}</button>
        <Wrong error={add.error} />
      </form>
    </Section>
  );
}
