import { FitAddon } from "@xterm/addon-fit";
import { Terminal as Xterm } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { useEffect, useRef, useState } from "react";
import { api, got } from "../api/client";
import { useWords } from "../i18n";
import { Cross } from "../ui/icons";
import { token, useTheme } from "../ui/theme";
import { forget, terminalName } from "./terminal-names";

const INPUT = 0;
const RESIZE = 3;
const EXIT = 4;
const LEAVE = 6;
const SHELL = ["sh", "-c", "command -v bash >/dev/null && exec bash -l; exec sh -l"];

/** A shell inside a running task. It survives a reload of the page and a lost connection. */
export default function Terminal({ id, task, close }: { id: string; task: number; close: () => void }) {
  const words = useWords().job;
  const theme = useTheme();
  const box = useRef<HTMLDivElement>(null);
  const [ended, setEnded] = useState("");
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
        socket.onmessage = (event: MessageEvent<ArrayBuffer>) => {
          const bytes = new Uint8Array(event.data);
          if (bytes[0] === EXIT) forget(id, task);
          else screen.write(bytes.subarray(1));
        };
        socket.onclose = (event) => !gone && setEnded(event.reason || words.terminalEnded);
      } catch {
        if (!gone) setEnded(words.terminalEnded);
      }
    };
    void connect();
    screen.onData((text) => send(INPUT, text));
    screen.onResize(({ rows, cols }) => send(RESIZE, JSON.stringify({ rows, cols })));
    const watch = new ResizeObserver(() => fit.fit());
    watch.observe(box.current as HTMLDivElement);
    return () => {
      gone = true;
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
