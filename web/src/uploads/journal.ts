/** What was already sent, kept by the browser: an upload goes on after the laptop was closed, once its files
 * are chosen again. Nothing of the files themselves is kept. */

export interface Sent {
  key: string;
  /** Of the unfinished upload on the server; empty once it is there. */
  url: string;
  done: boolean;
}

export interface Unfinished {
  key: string;
  user: string;
  folder: string;
  conflict: string;
  renamed: Record<string, string>;
  title: string;
  files: number;
  bytes: number;
  doneFiles: number;
  doneBytes: number;
  /** Whether a folder has to be chosen again, or files. */
  tree: boolean;
  at: number;
}

const NAME = "danlu-uploads";
const WEEKS = 14 * 86_400_000;

let opening: Promise<IDBDatabase> | null = null;
// A private window may refuse to keep anything; then it lasts as long as the page.
const kept = { sent: new Map<string, Sent>(), batches: new Map<string, Unfinished>() };

function open(): Promise<IDBDatabase> {
  opening ??= new Promise((done, failed) => {
    const asked = indexedDB.open(NAME, 1);
    asked.onupgradeneeded = () => {
      asked.result.createObjectStore("sent", { keyPath: "key" });
      asked.result.createObjectStore("batches", { keyPath: "key" });
    };
    asked.onsuccess = () => done(asked.result);
    asked.onerror = () => failed(asked.error);
  });
  return opening;
}

async function ask<T>(store: "sent" | "batches", mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T | undefined> {
  try {
    const database = await open();
    return await new Promise<T>((done, failed) => {
      const request = act(database.transaction(store, mode).objectStore(store));
      request.onsuccess = () => done(request.result);
      request.onerror = () => failed(request.error);
    });
  } catch {
    return undefined;
  }
}

export async function sentBefore(key: string): Promise<Sent | undefined> {
  return kept.sent.get(key) ?? (await ask<Sent>("sent", "readonly", (store) => store.get(key) as IDBRequest<Sent>));
}

export async function keepSent(sent: Sent): Promise<void> {
  kept.sent.set(sent.key, sent);
  await ask("sent", "readwrite", (store) => store.put(sent));
}

export async function keepBatch(batch: Unfinished): Promise<void> {
  kept.batches.set(batch.key, batch);
  await ask("batches", "readwrite", (store) => store.put(batch));
}

/** Nothing more to go on with: all is there, or nobody wants it any more. */
export async function forget(batch: string): Promise<void> {
  kept.batches.delete(batch);
  for (const key of [...kept.sent.keys()]) if (key.startsWith(`${batch}\n`)) kept.sent.delete(key);
  await ask("batches", "readwrite", (store) => store.delete(batch));
  await ask("sent", "readwrite", (store) => store.delete(IDBKeyRange.bound(`${batch}\n`, `${batch}\n\uffff`)));
}

/** The addresses of what was begun and never finished, so that the server can be told. */
export async function urlsOf(batch: string): Promise<string[]> {
  const range = typeof IDBKeyRange === "undefined" ? undefined : IDBKeyRange.bound(`${batch}\n`, `${batch}\n\uffff`);
  const stored = (await ask<Sent[]>("sent", "readonly", (store) => store.getAll(range))) ?? [];
  return [...new Map([...stored, ...kept.sent.values()].filter((one) => one.key.startsWith(`${batch}\n`)).map((one) => [one.key, one])).values()]
    .filter((one) => !one.done && one.url !== "")
    .map((one) => one.url);
}

/** Uploads of somebody's that were interrupted, the newest first. The server forgets them after a while, too. */
export async function unfinished(user: string, now = Date.now()): Promise<Unfinished[]> {
  const stored = (await ask<Unfinished[]>("batches", "readonly", (store) => store.getAll() as IDBRequest<Unfinished[]>)) ?? [...kept.batches.values()];
  const old = stored.filter((batch) => now - batch.at > WEEKS);
  await Promise.all(old.map((batch) => forget(batch.key)));
  return stored.filter((batch) => batch.user === user && now - batch.at <= WEEKS).sort((a, b) => b.at - a.at);
}
