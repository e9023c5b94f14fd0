import { useInfiniteQuery } from "@tanstack/react-query";
import { api, got, type Schemas } from "../api/client";

export type Job = Schemas["Job"];

export interface Filters {
  text?: string;
  active?: boolean;
  state?: string;
  owner?: string;
  queue?: string;
}

interface Place {
  phase: number;
  before: string;
}

const PAGE = 50;
const RUNNING = "running,starting,stopping";

/** What is asked for one after the other: what runs comes first, then what waits, then what has ended. */
function phases(filters: Filters): Filters[] {
  if (filters.state !== undefined) return [filters];
  const { active, ...others } = filters;
  const lively = [{ ...others, state: RUNNING }, { ...others, state: "queued" }];
  const ended = [{ ...others, active: false }];
  return active === true ? lively : active === false ? ended : [...lively, ...ended];
}

/** Page by page, by keyset: new jobs neither double a row nor push one out, however many there are. */
export function useJobs(filters: Filters) {
  const asked = phases(filters);
  return useInfiniteQuery({
    queryKey: ["jobs", "list", filters],
    initialPageParam: { phase: 0, before: "" } as Place,
    queryFn: async ({ pageParam }) => {
      const jobs: Job[] = [];
      let place: Place | undefined = pageParam;
      while (place !== undefined && jobs.length < PAGE) {
        const query = { ...asked[place.phase], fold: true, limit: PAGE - jobs.length, ...(place.before ? { before: place.before } : {}) };
        const answer: Schemas["JobList"] = await got(api.GET("/danlu/v1/jobs", { params: { query } }));
        jobs.push(...answer.jobs);
        if (answer.next != null) place = { phase: place.phase, before: answer.next };
        else place = place.phase + 1 < asked.length ? { phase: place.phase + 1, before: "" } : undefined;
      }
      return { jobs, next: place };
    },
    getNextPageParam: (page) => page.next,
  });
}

/** The elements of an array, the newest first. */
export function useElements({ owner, name, number }: Job) {
  return useInfiniteQuery({
    queryKey: ["jobs", "elements", owner, name, number],
    initialPageParam: "",
    queryFn: ({ pageParam }) => {
      const query = { owner, name, number, limit: PAGE, ...(pageParam ? { before: pageParam } : {}) };
      return got(api.GET("/danlu/v1/jobs", { params: { query } }));
    },
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

/** Whether it stands for all elements of its array. */
export function isArray(job: Job): boolean {
  return job.elements != null && sizeOf(job) > 1;
}

/** What a row stands for, also as the API is told: a job, or a whole array. */
export function keyOf(job: Job): string {
  return isArray(job) ? job.ref.slice(0, job.ref.lastIndexOf(".")) : job.id;
}

export function sizeOf(job: Job, ...states: string[]): number {
  const counts = job.elements ?? { [job.state]: 1 };
  return Object.entries(counts).reduce((sum, [state, count]) => sum + (states.length === 0 || states.includes(state) ? count : 0), 0);
}

export const WAITING = ["queued"];
export const ALIVE = ["queued", "starting", "running", "stopping"];

/** A job may change its state between two pages, and parts of an array be in several states: each is listed once. */
export function once(pages: { jobs: Job[] }[] | undefined): Job[] {
  const seen = new Map<string, Job>();
  for (const page of pages ?? []) for (const job of page.jobs) if (!seen.has(keyOf(job))) seen.set(keyOf(job), job);
  return [...seen.values()];
}
