import { useEffect, useRef, useState } from "react";
import { useWords } from "../i18n";
import { Bell, Cross } from "../ui/icons";
import type { Picture } from "./model";

/** A notice, in the page and where the browser allows it by the browser, once n are free. */
export function TellMe({ count, picture }: { count: number; picture: Picture }) {
  const words = useWords().map;
  const [waits, setWaits] = useState<number | null>(null);
  const [told, setTold] = useState<{ count: number; node: string } | null>(null);
  const said = useRef(words);
  said.current = words;
  const { free, node } = picture.largest;
  useEffect(() => {
    if (waits === null || free < waits) return;
    setWaits(null);
    setTold({ count: waits, node });
    if ("Notification" in window && Notification.permission === "granted")
      new Notification(said.current.toldTitle(waits), { body: said.current.toldBody(node), icon: "/icon.svg" });
  }, [waits, free, node]);
  const ask = () => {
    if (waits !== null) return setWaits(null);
    setTold(null);
    setWaits(count);
    if ("Notification" in window && Notification.permission === "default") void Notification.requestPermission();
  };
  return (
    <>
      {told !== null && (
        <div className="badge go" role="status">
          {words.toldTitle(told.count)}: {told.node}
          <button className="linklike" aria-label={words.close} onClick={() => setTold(null)}>
            <Cross size={12} />
          </button>
        </div>
      )}
      {(free < count || waits !== null) && (
        <button className="button" aria-pressed={waits !== null} onClick={ask}>
          <Bell />
          {waits === null ? words.tell(count) : words.telling(waits)}
        </button>
      )}
    </>
  );
}
