import { keep } from "../i18n";

/** What `public/first.js` asked for before the pages were loaded; each answer is for the first who takes it. */
interface First {
  session: Promise<Response | null>;
  stream: Promise<Response | null>;
  stop: AbortController;
}

declare global {
  interface Window {
    danluFirst?: Partial<First>;
    danluEarly?: Record<string, Promise<Response | null>>;
  }
}

export async function firstSession(): Promise<Response | null> {
  const asked = window.danluFirst?.session;
  delete window.danluFirst?.session;
  const answer = (await asked) ?? null;
  return answer?.ok ? answer : null;
}

export function firstStream(): Pick<First, "stream" | "stop"> | null {
  const { stream, stop } = window.danluFirst ?? {};
  delete window.danluFirst;
  return stream && stop ? { stream, stop } : null;
}

const FRESH = 15_000; // milliseconds from the page's start: later, an answer that nobody took is old

/** The answer that was asked for before the pages were loaded; null: ask now. */
export async function early(request: Request): Promise<Response | null> {
  const asked = window.danluEarly;
  if (asked === undefined || request.method !== "GET") return null;
  if (performance.now() > FRESH) {
    delete window.danluEarly;
    return null;
  }
  const { pathname, search } = new URL(request.url);
  const found = asked[pathname + search];
  delete asked[pathname + search];
  const answer = (await found) ?? null;
  return answer?.ok ? answer : null;
}

/** Whether it is worth to ask next time. */
export function expectSession(signedIn: boolean): void {
  keep("danlu.in", signedIn ? "yes" : "no");
  if (signedIn) return;
  delete window.danluEarly;
  firstStream()?.stop.abort();
}
