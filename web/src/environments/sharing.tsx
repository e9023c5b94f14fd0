import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { useNavigate } from "react-router";
import { api, got } from "../api/client";
import { useMe } from "../api/session";
import { useEnvironmentWords } from "../i18n/environments";
import { AskingButton, Section, Wrong } from "../ui/manage";
import { Initials } from "../ui/people";
import { mayOf, refOf, shownName, type Environment } from "./asks";

const unshare = (environment: Environment, user: string) =>
  got(api.DELETE("/danlu/v1/environments/{name}/shares/{user}", { params: { path: { name: refOf(environment), user } } }));

/** Who else may enter it. */
export function Sharing({ environment }: { environment: Environment }) {
  const words = useEnvironmentWords();
  const me = useMe();
  const queries = useQueryClient();
  const [user, setUser] = useState("");
  const again = () => void queries.invalidateQueries({ queryKey: ["environments"] });
  const share = useMutation({
    mutationFn: () =>
      got(api.PUT("/danlu/v1/environments/{name}/shares/{user}", { params: { path: { name: refOf(environment), user: user.trim() } } })),
    onSuccess: () => {
      setUser("");
      again();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    share.mutate();
  };
  const { change } = mayOf(environment, me);
  return (
    <Section title={words.people} note={environment.owner === me.user ? words.peopleNote : undefined}>
      {environment.shared.length === 0 ? (
        <p className="none">{words.nobody}</p>
      ) : (
        <ul className="people">
          {environment.shared.map((name) => (
            <li key={name}>
              <Initials name={name} me={name === me.user} />
              <span className="grow breakable">{name}</span>
              {change && (
                <AskingButton name={words.unshare} of={name} body={words.unshareAsk(name)} act={() => unshare(environment, name)} then={again} />
              )}
            </li>
          ))}
        </ul>
      )}
      {environment.owner === me.user && (
        <form className="body" onSubmit={submit}>
          <label className="field">
            <span>{words.person}</span>
            <input
              className="input"
              required
              maxLength={64}
              autoComplete="off"
              spellCheck={false}
              aria-invalid={share.error !== null}
              value={user}
              onChange={(event) => {
                setUser(event.target.value);
                share.reset();
              }}
            />
          </label>
          <button className="button" disabled={share.isPending || user.trim() === ""}>{words.share}</button>
          <Wrong error={share.error} />
        </form>
      )}
    </Section>
  );
}

/** For somebody it is shared with. */
export function LeaveButton({ environment }: { environment: Environment }) {
  const words = useEnvironmentWords();
  const me = useMe();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const gone = () => {
    queries.removeQueries({ queryKey: ["environments", "one"] });
    void queries.invalidateQueries({ queryKey: ["environments", "list"] });
    void navigate("/environments");
  };
  return <AskingButton small={false} name={words.leave} of={shownName(environment, me)} body={words.leaveAsk} act={() => unshare(environment, me.user)} then={gone} />;
}
