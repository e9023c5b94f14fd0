/** A tab's terminals by name: the server keeps the shell, and the name finds it again after a reload. */

const KEPT = "danlu.terminal";
const keyOf = (id: string, task: number) => `${KEPT}.${id}.${task}`;

export function terminalName(id: string, task: number): string {
  const key = keyOf(id, task);
  // Random, so that two tabs have two shells. crypto.randomUUID would need https.
  const fresh = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const name = sessionStorage.getItem(key) ?? fresh();
  sessionStorage.setItem(key, name);
  return name;
}

/** The shell has ended, or nobody wants it any longer. */
export function forget(id: string, task: number): void {
  sessionStorage.removeItem(keyOf(id, task));
}

/** The task of this job whose terminal was open before the page was loaded again. */
export function openBefore(id: string): number | null {
  for (let index = 0; index < sessionStorage.length; index += 1) {
    const key = sessionStorage.key(index) ?? "";
    if (key.startsWith(`${KEPT}.${id}.`)) return Number(key.slice(key.lastIndexOf(".") + 1));
  }
  return null;
}
