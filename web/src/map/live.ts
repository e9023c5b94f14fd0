import { useEffect, useState, startTransition, useSyncExternalStore } from "react";
import { stream, type Live } from "../api/stream";
import { picture, type Picture, type Row } from "./model";

let seen: Pick<Live, "nodes" | "usage"> = { nodes: null, usage: new Map() };
const made = new Map<string, Picture>();

/** The map as of now for one viewer: made once for all that is drawn from it. */
export function pictureNow(me: string): Picture | null {
  const { nodes, usage } = stream.look();
  if (nodes !== seen.nodes || usage !== seen.usage) {
    made.clear();
    seen = { nodes, usage };
  }
  if (nodes === null) return null;
  const known = made.get(me);
  if (known !== undefined) return known;
  const found = picture(nodes, usage, me);
  made.set(me, found);
  return found;
}

/** A part of the map. What asks for it is drawn again only when that part changes. */
export function usePart<T>(me: string, part: (picture: Picture | null) => T): T {
  return useSyncExternalStore(stream.subscribe, () => part(pictureNow(me)));
}

const whole = (picture: Picture | null) => picture;

export function usePicture(me: string): Picture | null {
  return usePart(me, whole);
}

/** The picture, but at most one in `milliseconds`, and only once more urgent things are drawn. */
export function useCalmPicture(me: string, milliseconds: number): Picture | null {
  const [calm, setCalm] = useState<Picture | null>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let taken = 0;
    let shown: Picture | null = null;
    const take = () => {
      timer = undefined;
      taken = Date.now();
      shown = pictureNow(me);
      startTransition(() => setCalm(shown));
    };
    const hear = () => {
      if (timer !== undefined || pictureNow(me) === shown) return;
      timer = setTimeout(take, Math.max(0, taken + milliseconds - Date.now()));
    };
    hear();
    const off = stream.subscribe(hear);
    return () => {
      off();
      clearTimeout(timer);
    };
  }, [me, milliseconds]);
  return calm;
}

const NONE: Row[] = [];

export function rowsOf(picture: Picture | null, model: string): Row[] {
  return picture?.models.find((each) => each.model === model)?.rows ?? NONE;
}
