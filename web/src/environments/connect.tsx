import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { api, got } from "../api/client";
import { useMe } from "../api/session";
import { DoorProblem, useDoor } from "../doors/open";
import { useEnvironmentWords } from "../i18n/environments";
import { CopyButton } from "../ui/copy";
import { Book, Chart, Code, Prompt } from "../ui/icons";
import { shownName, type Environment } from "./asks";

const TOOLS = [
  { door: "lab", icon: Book },
  { door: "code", icon: Code },
] as const;

interface Opens {
  environment: Environment;
  /** Shows the terminal. */
  terminal: () => void;
  /** The one button of the page that stands out. */
  primary?: boolean;
}

/** The three ways in that need nothing but the browser. */
export function OpenButtons({ environment, terminal, primary = false }: Opens) {
  const words = useEnvironmentWords();
  const me = useMe();
  const door = useDoor(environment.job?.id ?? "");
  const runs = environment.state === "running";
  // Of several cards with the same buttons, those who only hear them know which is which.
  const of = <span className="hidden-text">{shownName(environment, me)}</span>;
  return (
    <>
      <div className="open-buttons">
        {TOOLS.map(({ door: name, icon: Icon }) => (
          <button
            key={name}
            type="button"
            className={primary && name === "lab" && runs ? "button primary" : "button"}
            disabled={!runs || door.busy}
            onClick={() => door.open({ door: name, task: 0 }, words.tools[name])}
          >
            <Icon size={20} />
            <span>
              <b>{words.tools[name]}</b>
              <small>{words.toolNotes[name]}</small>
            </span>
            {of}
          </button>
        ))}
        <button type="button" className="button" disabled={!runs} onClick={terminal}>
          <Prompt size={20} />
          <span>
            <b>{words.tools.terminal}</b>
            <small>{words.toolNotes.terminal}</small>
          </span>
          {of}
        </button>
      </div>
      <DoorProblem door={door} />
    </>
  );
}

export function TensorBoard({ environment }: { environment: Environment }) {
  const words = useEnvironmentWords();
  const me = useMe();
  const door = useDoor(environment.job?.id ?? "");
  return (
    <>
      <div className="tile">
        <Chart size={20} />
        <span className="grow">
          <b>{words.tools.tensorboard}</b>
          <span className="note">{words.toolNotes.tensorboard}</span>
        </span>
        <button
          type="button"
          className="button small"
          disabled={door.busy}
          aria-label={words.openIn(words.tools.tensorboard, shownName(environment, me))}
          onClick={() => door.open({ door: "tensorboard", task: 0 }, words.tools.tensorboard)}
        >
          {words.open}
        </button>
      </div>
      <DoorProblem door={door} />
    </>
  );
}

/** Where SSH clients come in; undefined: not known yet, null: nowhere. */
function useSshPort(): number | null | undefined {
  return useServer()?.ssh_port;
}

function useServer() {
  return useQuery({ queryKey: ["server"], queryFn: () => got(api.GET("/danlu/v1/server")), staleTime: 600_000 }).data;
}

const host = () => location.hostname.replace(/^\[|\]$/g, "");

/** The line that a terminal understands, to be copied. */
export function SshLine({ environment }: { environment: Environment }) {
  const words = useEnvironmentWords();
  const me = useMe();
  const port = useSshPort();
  if (port === undefined) return <div className="ssh-line" aria-busy="true" />;
  if (port === null) return <p className="note">{words.sshOff}</p>;
  const line = `ssh -p ${port} ${me.user}+${shownName(environment, me).replace("/", "+")}@${host()}`;
  return (
    <div className="ssh-line">
      <code>{line}</code>
      <CopyButton text={line} name={words.copy} done={words.copied} label={words.copyOf(line)} />
    </div>
  );
}

export function SshConfig({ environment }: { environment: Environment }) {
  const words = useEnvironmentWords();
  const me = useMe();
  const port = useSshPort();
  const hostKey = useServer()?.ssh_host_key;
  if (port === undefined || port === null) return null;
  const name = shownName(environment, me).replace("/", "+");
  const block = `Host ${name}.danlu\n    HostName ${host()}\n    Port ${port}\n    User ${me.user}+${name}\n`;
  return (
    <>
      <p className="note">
        {words.sshNote} <Link to="/account">{words.sshKeys}</Link>
      </p>
      {hostKey && (
        <p className="note breakable">
          {words.sshHostKey} <code>{hostKey}</code>
        </p>
      )}
      <details>
        <summary>{words.sshConfig}</summary>
        <div className="ssh-block">
          <pre tabIndex={0} aria-label={words.sshConfig}>{block}</pre>
          <CopyButton text={block} name={words.copy} done={words.copied} label={words.copyOf(words.sshConfig)} />
        </div>
        <p className="note">{words.sshConfigNote(`${name}.danlu`)}</p>
      </details>
    </>
  );
}
