import { useEffect, useRef, useState } from "react";
import { useNavigate } from "react-router";
import { useWords } from "../i18n";
import { keep } from "../i18n";
import { Sheet } from "../ui/sheet";

let show: (() => void) | null = null;

export function showKeys(): void {
  show?.();
}

const KEPT = "danlu.keys";
const allowed = () => localStorage.getItem(KEPT) !== "off";

/** Whether a key press is meant for the page and not for a field. */
export function isShortcut(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || !allowed()) return false;
  const at = event.target as HTMLElement;
  return !at.closest("input, textarea, select, [contenteditable], .xterm, [role=dialog]");
}

export function Keys() {
  const words = useWords().keys;
  const navigate = useNavigate();
  const [open, setOpen] = useState(false);
  const [on, setOn] = useState(allowed);
  const going = useRef(false);
  useEffect(() => {
    show = () => setOpen(true);
    const press = (event: KeyboardEvent) => {
      if (!isShortcut(event)) return;
      if (going.current) {
        going.current = false;
        if (event.key === "c") navigate("/");
        else if (event.key === "j") navigate("/jobs");
        else if (event.key === "e") navigate("/environments");
        else if (event.key === "f") navigate("/files");
        return;
      }
      if (event.key === "?") setOpen(true);
      else if (event.key === "c") navigate("/submit");
      else if (event.key === "/") {
        event.preventDefault();
        navigate("/jobs?find=1");
      }
      else if (event.key === "g") {
        going.current = true;
        setTimeout(() => (going.current = false), 1000);
      }
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [navigate]);
  if (!open) return null;
  const rows: [string, string][] = [
    ["/", words.search],
    ["c", words.create],
    ["g c", words.goGpus],
    ["g j", words.goJobs],
    ["g e", words.goEnvironments],
    ["g f", words.goFiles],
    ["← ↑ → ↓", words.card],
    ["Shift + ↑ ↓", words.node],
    ["Enter", words.open],
    ["1 – 8", words.fits],
    ["Ctrl + Enter", words.submit],
    ["?", words.list],
    ["Esc", words.back],
  ];
  return (
    <Sheet title={words.title} close={() => setOpen(false)}>
      <div className="keys">
        {rows.map(([key, what]) => (
          <div key={key} style={{ display: "contents" }}>
            <span className="kbd">{key}</span>
            <span>{what}</span>
          </div>
        ))}
      </div>
      <label className="row" style={{ marginTop: 16 }}>
        <input
          type="checkbox"
          checked={on}
          onChange={(event) => {
            keep(KEPT, event.target.checked ? "on" : "off");
            setOn(event.target.checked);
          }}
        />
        {words.on}
      </label>
    </Sheet>
  );
}
