import { useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";

export interface Item {
  name: string;
  icon?: ReactNode;
  act?: () => void;
  /** A download, or another page. */
  href?: string;
  download?: boolean;
  disabled?: boolean;
  keys?: string;
}

/** A menu where the pointer is, or below a button. */
export function Menu({ label, items, at, close }: { label: string; items: (Item | null)[]; at: { x: number; y: number }; close: () => void }) {
  const box = useRef<HTMLDivElement>(null);
  const [spot, setSpot] = useState(at);
  useLayoutEffect(() => {
    const found = box.current?.getBoundingClientRect();
    if (found === undefined) return;
    setSpot({ x: Math.max(8, Math.min(at.x, innerWidth - found.width - 8)), y: Math.max(8, Math.min(at.y, innerHeight - found.height - 8)) });
  }, [at]);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    box.current?.querySelector<HTMLElement>("[role=menuitem]:not(:disabled)")?.focus();
    return () => before?.focus({ preventScroll: true });
  }, []);
  useEffect(() => {
    const away = (event: Event) => !box.current?.contains(event.target as Node) && close();
    document.addEventListener("pointerdown", away);
    window.addEventListener("resize", close);
    return () => {
      document.removeEventListener("pointerdown", away);
      window.removeEventListener("resize", close);
    };
  }, [close]);
  const press = (event: KeyboardEvent) => {
    const all = [...(box.current?.querySelectorAll<HTMLElement>("[role=menuitem]:not(:disabled)") ?? [])];
    const here = all.indexOf(document.activeElement as HTMLElement);
    const to: Record<string, number> = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: -1 };
    const next = to[event.key];
    if (event.key === "Escape" || event.key === "Tab") close();
    else if (next === undefined) return;
    else all.at(next % all.length)?.focus();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div ref={box} className="context-menu" role="menu" aria-label={label} style={{ left: spot.x, top: spot.y }} onKeyDown={press}>
      {items.map((item, at) =>
        item === null ? (
          <hr key={`line-${at}`} />
        ) : item.href !== undefined ? (
          <a key={item.name} role="menuitem" href={item.href} download={item.download ? "" : undefined} onClick={close}>
            {item.icon}
            {item.name}
          </a>
        ) : (
          <button
            key={item.name}
            type="button"
            role="menuitem"
            disabled={item.disabled}
            onClick={() => {
              close();
              item.act?.();
            }}
          >
            {item.icon}
            {item.name}
            {item.keys !== undefined && <span className="keys-of">{item.keys}</span>}
          </button>
        ),
      )}
    </div>
  );
}
