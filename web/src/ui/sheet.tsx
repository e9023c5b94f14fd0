import { useEffect, useId, useRef, type KeyboardEvent as KeyPress, type ReactNode } from "react";
import { useWords } from "../i18n";
import { Cross } from "./icons";

/** A dialog over the page. Focus goes in, stays in, and comes back. */
export function Sheet({ title, close, children }: { title: string; close: () => void; children: ReactNode }) {
  const words = useWords();
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    box.current?.focus();
    return () => before?.focus();
  }, []);
  const leave = useRef(close);
  leave.current = close;
  useEffect(() => {
    // On the document: a button that goes away takes the focus with it.
    const escape = (event: KeyboardEvent) => event.key === "Escape" && leave.current();
    document.addEventListener("keydown", escape);
    return () => document.removeEventListener("keydown", escape);
  }, []);
  const press = (event: KeyPress) => {
    if (event.key !== "Tab" || box.current === null) return;
    const inside = [...box.current.querySelectorAll<HTMLElement>("a, button, input, select, textarea")].filter((one) => !one.hasAttribute("disabled"));
    const edge = event.shiftKey ? inside[0] : inside.at(-1);
    if (edge !== undefined && document.activeElement === edge) {
      event.preventDefault();
      (event.shiftKey ? inside.at(-1) : inside[0])?.focus();
    }
  };
  return (
    <div className="sheet" onPointerDown={(event) => event.target === event.currentTarget && close()} onKeyDown={press}>
      <div ref={box} role="dialog" aria-modal="true" aria-labelledby={id} tabIndex={-1}>
        <div className="card" style={{ border: 0 }}>
          <div className="head">
            <h2 id={id}>{title}</h2>
            <button className="button small plain" onClick={close} aria-label={words.map.close}>
              <Cross />
            </button>
          </div>
          <div className="body">{children}</div>
        </div>
      </div>
    </div>
  );
}
