import { useEffect, useSyncExternalStore } from "react";
import { Link } from "react-router";
import { useMe } from "../api/session";
import { stream } from "../api/stream";
import { useWords } from "../i18n";
import { Bell, Cross } from "../ui/icons";
import { usePart } from "./live";
import { mostFree } from "./model";

interface Wish {
  user: string;
  count: number;
  told?: string; // the node, once there is one
}

const KEY = "danlu.tell";

/** What was asked for outlives the page, the tab and a reload; of each browser the last wish counts. */
class Wishes {
  private wish: Wish | null = read();
  private tellers = new Set<() => void>();

  constructor() {
    window.addEventListener("storage", (event) => event.key === KEY && this.take(read()));
  }

  readonly look = (): Wish | null => this.wish;

  readonly subscribe = (tell: () => void): (() => void) => {
    this.tellers.add(tell);
    return () => this.tellers.delete(tell);
  };

  set(wish: Wish | null): void {
    try {
      if (wish === null) localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, JSON.stringify(wish));
    } catch {
      // A private window may refuse; it then lasts as long as the tab.
    }
    this.take(wish);
  }

  private take(wish: Wish | null): void {
    this.wish = wish;
    this.tellers.forEach((tell) => tell());
  }
}

function read(): Wish | null {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "null") as Partial<Wish> | null;
    return typeof found?.user === "string" && typeof found.count === "number" ? (found as Wish) : null;
  } catch {
    return null;
  }
}

const wishes = new Wishes();

function useWish(): Wish | null {
  const me = useMe().user;
  const wish = useSyncExternalStore(wishes.subscribe, wishes.look);
  return wish?.user === me ? wish : null;
}

/** Asks for a notice once n are free on one node. */
export function TellMe({ viewer, count }: { viewer: string; count: number }) {
  const words = useWords().map;
  const user = useMe().user;
  const wish = useWish();
  const free = usePart(viewer, (picture) => picture?.largest.free ?? 0);
  const waits = wish !== null && wish.told === undefined;
  if (free >= count && !waits) return null;
  const ask = () => {
    wishes.set(waits ? null : { user, count });
    if (!waits && "Notification" in window && Notification.permission === "default") void Notification.requestPermission();
  };
  return (
    <button className="button" aria-pressed={waits} onClick={ask}>
      <Bell />
      {waits ? words.telling(wish.count) : words.tell(count)}
    </button>
  );
}

/** The node with so many free GPUs, if there is one. */
function roomFor(count: number | null): string | null {
  const { nodes, status } = stream.look();
  if (count === null || nodes === null || status !== "live") return null;
  const best = mostFree(nodes.values());
  return best.free >= count ? best.node : null;
}

/** Watches on every page, and tells: in the page and, where that is allowed, by the browser. */
export function Teller() {
  const words = useWords().map;
  const wish = useWish();
  const waits = wish !== null && wish.told === undefined ? wish.count : null;
  const node = useSyncExternalStore(stream.subscribe, () => roomFor(waits));
  useEffect(() => {
    if (wish === null || node === null) return;
    wishes.set({ ...wish, told: node });
    if ("Notification" in window && Notification.permission === "granted")
      new Notification(words.toldTitle(wish.count), { body: words.toldBody(node), icon: "/icon.svg", tag: KEY });
  }, [wish, node, words]);
  return (
    <div className="told" role="status">
      {wish?.told !== undefined && (
        <>
          <Bell />
          <Link to={`/?fits=${wish.count}`}>{words.toldTitle(wish.count)}{words.toldOn(wish.told)}</Link>
          <button className="button small plain" aria-label={words.close} onClick={() => wishes.set(null)}>
            <Cross size={12} />
          </button>
        </>
      )}
    </div>
  );
}
