/** Copies, moves and deletions that take a while: they run on in the server, and are followed here. */

import { useSyncExternalStore } from "react";
import { api, got } from "../api/client";
import { setActive } from "../uploads/active";
import type { Operation } from "./asks";

let shown: readonly Operation[] = [];
const tellers = new Set<() => void>();
const enders = new Set<() => void>();
const AGAIN = 2000; // milliseconds, where the server did not answer

function show(next: readonly Operation[]): void {
  shown = next;
  setActive("operations", next.length > 0);
  tellers.forEach((tell) => tell());
}

function put(operation: Operation): void {
  show(shown.some((one) => one.id === operation.id) ? shown.map((one) => (one.id === operation.id ? operation : one)) : [...shown, operation]);
}

export function useOperations(): readonly Operation[] {
  return useSyncExternalStore(
    (tell) => {
      tellers.add(tell);
      return () => tellers.delete(tell);
    },
    () => shown,
  );
}

export function onOperationEnd(tell: () => void): () => void {
  enders.add(tell);
  return () => enders.delete(tell);
}

/** Shows it while it runs, and afterwards where something could not be done. Returns how it ended. */
export async function follow(started: Operation): Promise<Operation> {
  let operation = started;
  while (operation.state === "running") {
    put(operation);
    const before = operation;
    operation = await got(api.GET("/danlu/v1/files/operations/{id}", { params: { path: { id: before.id }, query: { wait: 1 } } })).catch(async (error: unknown) => {
      const { status = 0 } = error as { status?: number };
      if (status >= 400 && status < 500 && status !== 429) return { ...before, state: "failed" as const };
      await new Promise((done) => setTimeout(done, AGAIN));
      return before;
    });
  }
  if (operation.problem_count > 0 || operation.state === "failed") put(operation);
  else dismiss(operation.id);
  enders.forEach((tell) => tell());
  return operation;
}

export function dismiss(id: string): void {
  show(shown.filter((one) => one.id !== id));
}

export async function cancel(id: string): Promise<void> {
  await got(api.DELETE("/danlu/v1/files/operations/{id}", { params: { path: { id } } }));
}

const MOST = 1000; // paths of one request

/** One operation for each thousand paths. */
export async function each(paths: readonly string[], act: (some: string[]) => Promise<Operation>): Promise<Operation[]> {
  const ended: Operation[] = [];
  for (let at = 0; at < paths.length; at += MOST) ended.push(await follow(await act(paths.slice(at, at + MOST))));
  return ended;
}
