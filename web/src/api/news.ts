import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { stream, type Happening } from "./stream";

// In milliseconds. A wave of events is one look at the server.
const TOGETHER = 700;
// GPUs change all the time on a large cluster; the queue is looked at again every few seconds then.
const NODES_ONLY = 5_000;

/** Looks again at what an event may have changed. One for the whole page. */
export function useNews(): void {
  const queries = useQueryClient();
  useEffect(() => {
    let jobs = new Set<string>();
    let all = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let due = 0;
    let flushed = 0;
    const flush = () => {
      timer = undefined;
      flushed = Date.now();
      void queries.invalidateQueries({ queryKey: ["cluster"] });
      void queries.invalidateQueries({ queryKey: ["waiting"] });
      void queries.invalidateQueries({ queryKey: ["quotas"] });
      void queries.invalidateQueries({ queryKey: ["why"] });
      if (jobs.size > 0 || all) {
        void queries.invalidateQueries({ queryKey: ["jobs"] });
        void queries.invalidateQueries({ queryKey: ["environments"] });
      }
      if (all) void queries.invalidateQueries({ queryKey: ["job"] });
      else jobs.forEach((id) => void queries.invalidateQueries({ queryKey: ["job", id] }));
      jobs = new Set();
      all = false;
    };
    const hear = (happening: Happening | null) => {
      if (happening?.job) {
        jobs.add(happening.job.id);
        jobs.add(happening.job.ref);
      }
      const now = Date.now();
      const soonest = happening === null && !all ? Math.max(now + TOGETHER, flushed + NODES_ONLY) : now + TOGETHER;
      if (timer !== undefined && due <= soonest) return;
      clearTimeout(timer);
      due = soonest;
      timer = setTimeout(flush, due - now);
    };
    let seen = stream.look().status;
    const back = stream.subscribe(() => {
      const now = stream.look().status;
      if (now === "live" && seen === "away") {
        all = true; // what was missed while it was away
        hear(null);
      }
      seen = now;
    });
    const off = stream.onHappening(hear);
    return () => {
      off();
      back();
      clearTimeout(timer);
    };
  }, [queries]);
}
