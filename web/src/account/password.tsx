import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { api } from "../api/client";
import { useSession } from "../api/session";
import { useWords } from "../i18n";
import { useManageWords } from "../i18n/manage";
import { Field, Wrong } from "../ui/manage";

export function PasswordForm() {
  const { signIn: labels } = useWords();
  const words = useManageWords().account;
  const { refresh } = useSession();
  const [old, setOld] = useState("");
  const [fresh, setFresh] = useState("");
  const [again, setAgain] = useState("");
  const differ = again !== "" && again !== fresh;
  const going = useMutation({
    mutationFn: async () => {
      await api.POST("/danlu/v1/password", { body: { old, new: fresh } });
      await refresh();
    },
    onSuccess: () => [setOld, setFresh, setAgain].forEach((set) => set("")),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!differ) going.mutate();
  };
  const field = (label: string, name: string, kind: string, value: string, set: (value: string) => void, wrong = false) => (
    <Field label={label}>
      <input className="input" name={name} type="password" autoComplete={kind} required aria-invalid={wrong} value={value} onChange={(event) => set(event.target.value)} />
    </Field>
  );
  return (
    <form className="body column" id="password" onSubmit={submit}>
      {field(words.old, "old", "current-password", old, setOld)}
      {field(labels.fresh, "new", "new-password", fresh, setFresh)}
      {field(labels.again, "again", "new-password", again, setAgain, differ)}
      {differ && <p className="problem">{labels.differ}</p>}
      <Wrong error={going.error} />
      {going.isSuccess && <p className="done" role="status">{words.changed}</p>}
      <button className="button primary" disabled={going.isPending || differ}>{words.change}</button>
    </form>
  );
}
