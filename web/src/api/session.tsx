import { useQueryClient } from "@tanstack/react-query";
import { createContext, useCallback, useContext, useEffect, useMemo, useState, type ReactNode } from "react";
import { hold, onLost } from "./auth";
import { api, got, Refusal, type Schemas } from "./client";
import { expectSession, firstSession } from "./first";
import { stream } from "./stream";

export type Me = Schemas["BrowserSession"];
type State = "asking" | "out" | "ended" | "in";

interface Session {
  state: State;
  me: Me | undefined;
  signIn: (user: string, password: string) => Promise<void>;
  signOut: () => Promise<void>;
  refresh: () => Promise<void>;
}

const Current = createContext<Session | null>(null);

export function SessionProvider({ children }: { children: ReactNode }) {
  const [state, setState] = useState<State>("asking");
  const [me, setMe] = useState<Me>();
  const queries = useQueryClient();

  const enter = useCallback((found: Me) => {
    hold(found.csrf_token);
    expectSession(!found.must_change_password);
    setMe(found);
    setState("in");
  }, []);
  const refresh = useCallback(async () => {
    try {
      const early = await firstSession();
      enter(early === null ? await got(api.GET("/danlu/v1/session")) : ((await early.json()) as Me));
    } catch (error) {
      if (error instanceof Refusal && error.status < 500) {
        expectSession(false);
        setState("out");
      } else setTimeout(() => void refresh(), 2000);
    }
  }, [enter]);
  useEffect(() => {
    onLost(() => {
      hold(null);
      stream.stop();
      setState((was) => (was === "in" ? "ended" : was));
    });
    void refresh();
  }, [refresh]);
  const ready = state === "in" && me !== undefined && !me.must_change_password;
  useEffect(() => {
    if (ready) stream.start();
  }, [ready]);

  const signIn = useCallback(
    async (user: string, password: string) => {
      const found = await got(api.POST("/danlu/v1/session", { body: { user, password } }));
      queries.clear();
      enter(found);
    },
    [queries, enter],
  );
  const signOut = useCallback(async () => {
    await api.DELETE("/danlu/v1/session").catch(() => undefined);
    expectSession(false);
    hold(null);
    stream.stop();
    queries.clear();
    setState("out");
  }, [queries]);
  const value = useMemo(() => ({ state, me, signIn, signOut, refresh }), [state, me, signIn, signOut, refresh]);
  return <Current.Provider value={value}>{children}</Current.Provider>;
}

export function useSession(): Session {
  const found = useContext(Current);
  if (found === null) throw new Error("outside of SessionProvider");
  return found;
}

/** Inside the pages somebody is signed in. */
export function useMe(): Me {
  const { me } = useSession();
  if (me === undefined) throw new Error("nobody is signed in");
  return me;
}
