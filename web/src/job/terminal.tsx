import { FitAddon } from "@xterm/addon-fit";
import { Terminal as Xterm } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { useEffect, useRef, useState } from "react";
import { api, got, Refusal } from "../api/client";
import { useWords } from "../i18n";
import { Cross } from "../ui/icons";
import { token, useTheme } from "../ui/theme";
import { forget, terminalName } from "./terminal-names";

const INPUT = 0;
const RESIZE = 3;
const EXIT = 4;
const LEAVE = 6;
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 10_000;
/** The server refuses it, or says that it is over: trying again changes nothing. */
const refused = (code: number) => code >= 4000;
const SHELL = ["sh", "-c", "command -v bash >/dev/null && exec bash -l; exec sh -l"];

/** A shell inside a running task. It survives a reload of the page, a lost connection and a restart of the server. */
export default function Terminal({ id, task, close }: { id: string; task: number; close: () => void }) {
  const words = useWords().job;
  const theme = useTheme();
  const box = useRef<HTMLDivElement>(null);
  const [ended, setEnded] = useState("");
  const [away, setAway] = useState(false);
  const [turn, setTurn] = useState(0);
  const leaving = useRef(false);
  useEffect(() => {
    const screen = new Xterm({
      fontFamily: token("mono"),
      fontSize: 13,
      cursorBlink: false,
      theme: { background: token("bg"), foreground: token("text"), cursor: token("ember"), selectionBackground: token("ember-w") },
    });
    const fit = new FitAddon();
    screen.loadAddon(fit);
    screen.open(box.current as HTMLDivElement);
    fit.fit();
    screen.focus();
    let socket: WebSocket | null = null;
    const name = terminalName(id, task);
    let gone = false;
    let over = false;
    let pause = FIRST_PAUSE;
    let timer = 0;
    const later = () => {
      setAway(true);
      timer = window.setTimeout(() => void connect(), pause);
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    };
    const send = (kind: number, body: Uint8Array | string) => {
      const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
      const frame = new Uint8Array(bytes.length + 1);
      frame[0] = kind;
      frame.set(bytes, 1);
      if (socket?.readyState === WebSocket.OPEN) socket.send(frame);
    };
    const connect = async () => {
      const path = `/danlu/v1/jobs/${id}/exec`;
      try {
        const { ticket } = await got(api.POST("/danlu/v1/tickets", { body: { path } }));
        if (gone) return;
        const query = new URLSearchParams({
          argv: JSON.stringify(SHELL),
          task: String(task),
          tty: "true",
          rows: String(screen.rows),
          cols: String(screen.cols),
          name,
          ticket,
        });
        socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}${path}?${query}`);
        socket.binaryType = "arraybuffer";
        socket.onopen = () => {
          setAway(false);
          pause = FIRST_PAUSE;
          screen.reset(); // what it printed last comes again
        };
        socket.onmessage = (event: MessageEvent<ArrayBuffer>) => {
          const bytes = new Uint8Array(event.data);
          if (bytes[0] === EXIT) {
            over = true;
            forget(id, task);
          } else screen.write(bytes.subarray(1));
        };
        socket.onclose = (event) => {
          if (gone) return;
          if (over || event.code === 1000 || refused(event.code)) setEnded(event.reason || words.terminalEnded);
          else later();
        };
      } catch (error) {
        if (gone) return;
        if (error instanceof Refusal && error.status < 500) setEnded(words.terminalEnded);
        else later();
      }
    };
    void connect();
    screen.onData((text) => send(INPUT, text));
    screen.onResize(({ rows, cols }) => send(RESIZE, JSON.stringify({ rows, cols })));
    const watch = new ResizeObserver(() => fit.fit());
    watch.observe(box.current as HTMLDivElement);
    return () => {
      gone = true;
      window.clearTimeout(timer);
      watch.disconnect();
      // Closing the panel ends the shell; a reload or another theme does not.
      if (leaving.current) send(LEAVE, "");
      socket?.close();
      screen.dispose();
    };
    // Words and theme change nothing that is open.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [id, task, turn, theme]);
  return (
    <section className="card" style={{ marginBottom: 16 }} aria-label={words.terminal}>
      <div className="head">
        <h2>{words.terminal}</h2>
        <div className="row">
          {away && ended === "" && <span className="note" role="status">{words.terminalAway}</span>}
          {ended !== "" && (
            <>
              <span className="note" role="status">{ended}</span>
              <button
                className="button small"
                onClick={() => {
                  setEnded("");
                  setTurn(turn + 1);
                }}
              >
                {words.reconnect}
              </button>
            </>
          )}
          <button
            className="button small plain"
            aria-label={words.closeTerminal}
            onClick={() => {
              leaving.current = true;
              forget(id, task);
              close();
            }}
          >
            <Cross />
          </button>
        </div>
      </div>
      <div className="terminal" ref={box} />
    </section>
  );
}
