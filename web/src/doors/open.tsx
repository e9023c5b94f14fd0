import { useMutation } from "@tanstack/react-query";
import { useEffect } from "react";
import { api, got, type Schemas } from "../api/client";
import { useLanguage, useWords, type Lang } from "../i18n";
import { useProblem } from "../ui/problem";

type Order = Schemas["DoorOrder"];
const OWN_NAME = /^[0-9a-f]{20}\./;
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** A door has a name of its own, or is on a port of the host by which this page was reached. What Danlu shows there is in `lang`. */
export function addressOf(door: Schemas["OpenDoor"], lang: Lang): string {
  if (OWN_NAME.test(door.host)) return `${door.url}&lang=${lang}`;
  const { hostname } = location;
  return `${LOOPBACK.test(hostname) ? "http" : "https"}://${hostname}:${door.port}${door.path}&lang=${lang}`;
}

/** Opens what a job serves in a tab of its own. The job may have to be started for it. */
export function useDoor(id: string | (() => Promise<string>)) {
  const words = useWords().doors;
  const { lang } = useLanguage();
  const going = useMutation({
    mutationFn: async ({ order, tab }: { order: Order; tab: Window | null }): Promise<string | null> => {
      try {
        const ref = typeof id === "string" ? id : await id();
        const door = await got(api.POST("/danlu/v1/jobs/{ref}/doors", { params: { path: { ref } }, body: order }));
        if (tab === null) return addressOf(door, lang);
        tab.location.replace(addressOf(door, lang));
        return null;
      } catch (error) {
        tab?.close();
        throw error;
      }
    },
  });
  const { data: address, reset } = going;
  useEffect(() => {
    if (typeof address !== "string") return;
    const timer = setTimeout(reset, 25_000); // the ticket in it expires
    return () => clearTimeout(timer);
  }, [address, reset]);
  /** To be called by the click itself: later, browsers take the tab for an unwanted one. */
  const open = (order: Order, what: string) => {
    const tab = window.open("about:blank", "_blank");
    if (tab !== null) {
      tab.opener = null; // what runs in a job must not steer this page
      tab.document.title = words.opening(what);
      tab.document.body.textContent = words.opening(what);
    }
    going.mutate({ order, tab });
  };
  return { open, busy: going.isPending, error: going.error, blocked: address ?? null, done: reset };
}

export type Door = ReturnType<typeof useDoor>;

/** Why a door did not open, or the way around a browser that kept the tab from opening. */
export function DoorProblem({ door }: { door: Door }) {
  const words = useWords().doors;
  const problem = useProblem();
  if (door.error !== null) return <p className="problem" role="alert">{problem(door.error)}</p>;
  if (door.blocked === null) return null;
  return (
    <p className="note" role="alert">
      {words.blocked}{" "}
      <a href={door.blocked} target="_blank" rel="noopener noreferrer" onClick={door.done}>{words.openHere}</a>
    </p>
  );
}
