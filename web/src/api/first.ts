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

/** Whether it is worth to ask next time. */
export function expectSession(signedIn: boolean): void {
  keep("danlu.in", signedIn ? "yes" : "no");
  if (!signedIn) firstStream()?.stop.abort();
}
