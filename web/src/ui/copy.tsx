import { useState } from "react";
import { Copy, Tick } from "./icons";

/** Browsers offer the clipboard to pages of localhost and https only; elsewhere the old way has to do. */
async function put(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = document.createElement("textarea");
    box.value = text;
    box.style.position = "fixed";
    box.style.opacity = "0";
    document.body.append(box);
    box.select();
    const done = document.execCommand("copy");
    box.remove();
    return done;
  }
}

/** `label`: for those who do not see what stands beside it. */
export function CopyButton({ text, name, done, label }: { text: string; name: string; done: string; label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    const before = document.activeElement as HTMLElement | null;
    if (!(await put(text))) return;
    before?.focus();
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  };
  return (
    <button type="button" className="button small" aria-label={copied ? done : label} onClick={() => void copy()}>
      {copied ? <Tick /> : <Copy />}
      <span aria-live="polite">{copied ? done : name}</span>
    </button>
  );
}
