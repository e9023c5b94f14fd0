import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, got } from "../api/client";
import { useWords } from "../i18n";
import { useEnvironmentWords } from "../i18n/environments";
import { Warn } from "../ui/icons";
import { Wrong } from "../ui/manage";
import { useNow } from "../ui/now";
import { clock, duration } from "../ui/time";
import { secondsOf } from "../ui/values";
import { refOf, type Environment } from "./asks";

const SOON = 1800; // seconds before its end
const IDLE_SOON = 600;
const HOUR = 3600;

function useExtend(environment: Environment) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (by: number | null) =>
      got(api.POST("/danlu/v1/environments/{name}/extend", { params: { path: { name: refOf(environment) } }, body: { by } })),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ["environments"] }),
  });
}

/** By its time limit, or because nobody uses it. */
function whatIsNear({ state, ends_at: ends, idle_since: since, idle_stop_at: idle }: Environment, now: number): "time" | "idle" | null {
  if (state !== "running") return null;
  const left = ends === null ? Infinity : ends - now;
  const idleLeft = idle === null ? Infinity : idle - now;
  if (idleLeft < left && idleLeft < Math.min(IDLE_SOON, ((idle ?? 0) - (since ?? 0)) / 2)) return "idle";
  return left < SOON ? "time" : null;
}

export const endsSoon = (environment: Environment, now: number) => whatIsNear(environment, now) !== null;

/** How long it has, and by what it ends; in a line. */
export function useLeft() {
  const words = useEnvironmentWords();
  const { time, map, colon } = useWords();
  return (environment: Environment, now: number): string[] => {
    const { ends_at: ends, idle_stop_at: idle } = environment;
    return [
      ends === null ? map.noEnd : `${words.left}${colon}${duration(ends - now, time)}`,
      ...(idle === null ? [] : [`${words.idle}${colon}${words.idleUntil(clock(idle, time))}`]),
    ];
  };
}

/** Said while there is time to do something about it. */
export function EndsSoon({ environment, own }: { environment: Environment; own: boolean }) {
  const words = useEnvironmentWords();
  const { time } = useWords();
  const now = useNow(1000) / 1000;
  const extend = useExtend(environment);
  const near = whatIsNear(environment, now);
  if (near === null) return null;
  const byIdle = near === "idle";
  const at = (byIdle ? environment.idle_stop_at : environment.ends_at) ?? now;
  const left = duration(at - now, time);
  return (
    <div className="notice ends-soon">
      <Warn size={20} />
      <div className="grow">
        <b>{byIdle ? words.idleSoon(left, clock(at, time)) : words.endsSoon(left, clock(at, time))}</b>
        {/* Without what changes every second: it is read out when it changes. */}
        <span className="hidden-text" role="status">{byIdle ? words.idleUntil(clock(at, time)) : words.endsAt(clock(at, time))}</span>
        <span>{byIdle ? words.idleSoonNote : words.endsSoonNote}</span>
        <Wrong error={extend.error} />
      </div>
      {own && (
        <button className="button small" disabled={extend.isPending} onClick={() => extend.mutate(null)}>
          {byIdle ? words.stillUsed : words.extend}
        </button>
      )}
    </div>
  );
}

/** Time and idle time left, and more of it. `spec`: what runs, with what the server filled in. */
export function Limits({ environment, spec, own }: { environment: Environment; spec: Record<string, unknown>; own: boolean }) {
  const words = useEnvironmentWords();
  const { time } = useWords();
  const now = useNow(1000) / 1000;
  const extend = useExtend(environment);
  const { ends_at: ends, idle_since: since, idle_stop_at: idle } = environment;
  const limit = secondsOf(spec["idle_limit"]) || null;
  return (
    <section className="card" aria-label={words.time}>
      <div className="limits">
        <div>
          <div className="note">{words.left}</div>
          <b className={ends !== null && ends - now < SOON ? "warn" : ""}>{ends === null ? words.noEnd : duration(ends - now, time)}</b>
          <div className="note">{ends === null ? words.noEndNote : words.until(clock(ends, time))}</div>
        </div>
        <div>
          <div className="note">{words.idle}</div>
          <b className={idle !== null && idle - now < IDLE_SOON ? "warn" : ""}>
            {idle !== null ? words.idleFor(duration(now - (since ?? now), time)) : limit === null ? words.noIdle : words.inUse}
          </b>
          <div className="note">
            {idle !== null ? words.idleUntil(clock(idle, time)) : limit === null ? words.noIdleNote : words.inUseNote(duration(limit, time))}
          </div>
        </div>
      </div>
      {own && ends !== null && (
        <div className="extend" role="group" aria-label={words.extend}>
          {[HOUR, 4 * HOUR].map((by) => (
            <button key={by} className="button small" disabled={extend.isPending} onClick={() => extend.mutate(by)}>
              {words.extendBy(duration(by, time))}
            </button>
          ))}
          <button className="button small" disabled={extend.isPending} title={words.extendFullNote} onClick={() => extend.mutate(null)}>
            {words.extendFull}
          </button>
          <Wrong error={extend.error} />
        </div>
      )}
    </section>
  );
}
