import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useSearchParams } from "react-router";
import { api, got } from "../api/client";
import { useWords } from "../i18n";
import { useProblem } from "../ui/problem";
import { Door } from "./door";

export default function SignUp() {
  const words = useWords();
  const said = useProblem();
  const [address] = useSearchParams();
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState(address.get("code") ?? "");
  const [group, setGroup] = useState("");
  const going = useMutation({
    mutationFn: () =>
      got(
        api.POST("/danlu/v1/sign-up", {
          body: { name: name.trim(), password, code: code.trim() || null, group: group.trim() || null },
        }),
      ),
  });
  if (going.data !== undefined) {
    return (
      <Door title={words.signUp.title} onSubmit={() => {}}>
        <p role="status">{going.data.status === "active" ? words.signUp.made : words.signUp.asked}</p>
        <Link className="button primary" to="/">{words.signUp.back}</Link>
      </Door>
    );
  }
  return (
    <Door title={words.signUp.title} onSubmit={() => going.mutate()}>
      <label className="field">
        <span>{words.signIn.user}</span>
        <input className="input" name="user" autoComplete="username" autoFocus required value={name} onChange={(e) => setName(e.target.value)} />
      </label>
      <label className="field">
        <span>{words.signIn.password}</span>
        <input className="input" name="password" type="password" autoComplete="new-password" required value={password} onChange={(e) => setPassword(e.target.value)} />
      </label>
      <label className="field">
        <span>{words.signUp.code}</span>
        <input className="input mono" name="code" value={code} onChange={(e) => setCode(e.target.value)} />
        <small className="note">{words.signUp.codeHint}</small>
      </label>
      <label className="field">
        <span>{words.signUp.group}</span>
        <input className="input" name="group" value={group} onChange={(e) => setGroup(e.target.value)} />
      </label>
      {going.error !== null && <p className="problem" role="alert">{said(going.error)}</p>}
      <button className="button primary" disabled={going.isPending}>{words.signUp.submit}</button>
      <Link to="/">{words.signUp.back}</Link>
    </Door>
  );
}
