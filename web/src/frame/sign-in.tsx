import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { api } from "../api/client";
import { useSession } from "../api/session";
import { useWords } from "../i18n";
import { useProblem } from "../ui/problem";
import { Door } from "./door";

export function SignIn({ ended }: { ended: boolean }) {
  const words = useWords();
  const said = useProblem();
  const { signIn } = useSession();
  const [user, setUser] = useState("");
  const [password, setPassword] = useState("");
  const going = useMutation({ mutationFn: () => signIn(user.trim(), password) });
  return (
    <Door title={words.signIn.title} onSubmit={() => going.mutate()}>
      <p className="note">{ended ? words.signIn.ended : words.signIn.lead}</p>
      <label className="field">
        <span>{words.signIn.user}</span>
        <input className="input" name="user" autoComplete="username" autoFocus required value={user} onChange={(e) => setUser(e.target.value)} />
      </label>
      <label className="field">
        <span>{words.signIn.password}</span>
        <input
          className="input"
          name="password"
          type="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(e) => setPassword(e.target.value)}
        />
      </label>
      {going.error !== null && <p className="problem" role="alert">{said(going.error)}</p>}
      <button className="button primary" disabled={going.isPending}>{words.signIn.submit}</button>
      <Link to="/sign-up">{words.signIn.signUp}</Link>
    </Door>
  );
}

export function ChangePassword() {
  const words = useWords();
  const said = useProblem();
  const { refresh } = useSession();
  const [old, setOld] = useState("");
  const [fresh, setFresh] = useState("");
  const [again, setAgain] = useState("");
  const going = useMutation({
    mutationFn: async () => {
      await api.POST("/danlu/v1/password", { body: { old, new: fresh } });
      await refresh();
    },
  });
  const differ = again !== "" && again !== fresh;
  return (
    <Door title={words.signIn.change} onSubmit={() => !differ && going.mutate()}>
      <p className="note">{words.signIn.changeWhy}</p>
      <label className="field">
        <span>{words.signIn.old}</span>
        <input className="input" name="old" type="password" autoComplete="current-password" autoFocus required value={old} onChange={(e) => setOld(e.target.value)} />
      </label>
      <label className="field">
        <span>{words.signIn.fresh}</span>
        <input className="input" name="new" type="password" autoComplete="new-password" required value={fresh} onChange={(e) => setFresh(e.target.value)} />
      </label>
      <label className="field">
        <span>{words.signIn.again}</span>
        <input
          className="input"
          name="again"
          type="password"
          autoComplete="new-password"
          required
          aria-invalid={differ}
          value={again}
          onChange={(e) => setAgain(e.target.value)}
        />
      </label>
      {differ && <p className="problem">{words.signIn.differ}</p>}
      {going.error !== null && <p className="problem" role="alert">{said(going.error)}</p>}
      <button className="button primary" disabled={going.isPending || differ}>{words.signIn.setPassword}</button>
    </Door>
  );
}
