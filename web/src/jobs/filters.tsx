import { useQuery } from "@tanstack/react-query";
import { api, got } from "../api/client";
import { useMe } from "../api/session";
import { useWords } from "../i18n";

const STATES = ["queued", "starting", "running", "stopping", "succeeded", "failed", "stopped"];

interface Props {
  state: string;
  queue: string;
  owner: string;
  set: (changes: Record<string, string>) => void;
}

/** Owner, state and queue; what is chosen is in the address. */
export function Choices({ state, queue, owner, set }: Props) {
  const words = useWords();
  const me = useMe();
  const sees = me.role === "admin" || me.leads.length > 0;
  const queues = useQuery({ queryKey: ["queues"], queryFn: () => got(api.GET("/danlu/v1/queues")) });
  const people = useQuery({ queryKey: ["users"], queryFn: () => got(api.GET("/danlu/v1/users")), enabled: sees });
  const names = (queues.data?.queues ?? []).map((each) => each.name);
  const owners = (people.data?.users ?? []).map((each) => each.name).filter((name) => name !== me.user);
  return (
    <>
      <Choice name={words.jobs.columns.state} value={state} any={words.jobs.anyState} options={STATES.map((each) => [each, words.states[each] ?? each])} choose={(value) => set({ state: value, ended: "" })} />
      {(names.length > 1 || queue !== "") && (
        <Choice name={words.jobs.queue} value={queue} any={words.jobs.anyQueue} options={names.map((each) => [each, each])} choose={(value) => set({ queue: value })} />
      )}
      {(sees || owner !== "") && (
        <Choice name={words.jobs.columns.who} value={owner} any={words.jobs.mine} options={[["all", words.jobs.everybody], ...owners.map((each): [string, string] => [each, each])]} choose={(value) => set({ owner: value })} />
      )}
    </>
  );
}

interface ChoiceProps {
  name: string;
  value: string;
  any: string;
  options: [value: string, text: string][];
  choose: (value: string) => void;
}

function Choice({ name, value, any, options, choose }: ChoiceProps) {
  // A value of the address that is none of these is shown as it is: several states, somebody gone.
  const known = value === "" || options.some(([each]) => each === value);
  return (
    <select className="input choice" aria-label={name} value={value} onChange={(event) => choose(event.target.value)}>
      <option value="">{any}</option>
      {!known && <option value={value}>{value}</option>}
      {options.map(([each, text]) => <option key={each} value={each}>{text}</option>)}
    </select>
  );
}
