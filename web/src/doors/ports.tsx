import { useState, type FormEvent } from "react";
import { useWords } from "../i18n";
import { DoorProblem, useDoor } from "./open";
import "./ports.css";

interface Listening {
  index: number;
  ports: number[];
}

interface Shown {
  id: string;
  tasks: Listening[];
  nameOf: (index: number) => string;
  note: string;
}

/** The ports that a job was given, and a field for any other. */
export function Ports({ id, tasks, nameOf, note }: Shown) {
  const words = useWords().doors;
  const door = useDoor(id);
  const [typed, setTyped] = useState("");
  const several = tasks.length > 1;
  const named = (port: number, task: number) => (several ? words.portOf(port, nameOf(task)) : words.port(port));
  const other = (event: FormEvent) => {
    event.preventDefault();
    const port = Number(typed);
    door.open({ port, task: tasks[0]?.index ?? 0 }, words.port(port));
  };
  return (
    <div className="ports">
      <p className="note">{note}</p>
      <ul>
        {tasks.flatMap((task) =>
          task.ports.map((port) => (
            <li key={`${task.index} ${port}`}>
              <span className="grow">{named(port, task.index)}</span>
              <button
                type="button"
                className="button small"
                disabled={door.busy}
                aria-label={words.openLabel(named(port, task.index))}
                onClick={() => door.open({ port, task: task.index }, named(port, task.index))}
              >
                {words.open}
              </button>
            </li>
          )),
        )}
      </ul>
      <form className="row" onSubmit={other}>
        <label className="grow">
          <span className="hidden-text">{words.any}</span>
          <input
            className="input"
            type="number"
            inputMode="numeric"
            min={1}
            max={65535}
            required
            placeholder={words.any}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        </label>
        <button className="button" disabled={door.busy || typed === ""} aria-label={typed === "" ? words.open : words.openLabel(words.port(Number(typed)))}>{words.open}</button>
      </form>
      <DoorProblem door={door} />
    </div>
  );
}
