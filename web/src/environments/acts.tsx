import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "react-router";
import { api, got } from "../api/client";
import { useMe } from "../api/session";
import { useEnvironmentWords } from "../i18n/environments";
import { Play } from "../ui/icons";
import { AskingButton, Wrong } from "../ui/manage";
import { gpusAsked, isActive, mayOf, refOf, shownName, type Environment } from "./asks";

const pathTo = (found: Environment) => ({ params: { path: { name: refOf(found) } } });

function useAgain() {
  const queries = useQueryClient();
  return () => {
    void queries.invalidateQueries({ queryKey: ["environments"] });
    void queries.invalidateQueries({ queryKey: ["job"] });
  };
}

export function StartButton({ environment, primary }: { environment: Environment; primary: boolean }) {
  const words = useEnvironmentWords();
  const again = useAgain();
  const going = useMutation({ mutationFn: () => got(api.POST("/danlu/v1/environments/{name}/start", pathTo(environment))), onSuccess: again });
  return (
    <>
      <button className={primary ? "button primary" : "button"} disabled={going.isPending} onClick={() => going.mutate()}>
        <Play />
        {environment.job === null ? words.start : words.startAgain}
      </button>
      <Wrong error={going.error} />
    </>
  );
}

export function StopButton({ environment }: { environment: Environment }) {
  const words = useEnvironmentWords();
  const me = useMe();
  const waiting = environment.state === "queued";
  return (
    <AskingButton
      small={false}
      name={waiting ? words.withdraw : words.stop}
      of={shownName(environment, me)}
      body={waiting ? words.withdrawAsk : words.stopAsk}
      act={() => got(api.POST("/danlu/v1/environments/{name}/stop", pathTo(environment)))}
      then={useAgain()}
    />
  );
}

export function DeleteButton({ environment }: { environment: Environment }) {
  const words = useEnvironmentWords();
  const me = useMe();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const gone = () => {
    queries.removeQueries({ queryKey: ["environments", "one"] });
    void queries.invalidateQueries({ queryKey: ["environments", "list"] });
    void navigate("/environments");
  };
  return (
    <AskingButton
      small={false}
      name={words.delete}
      of={shownName(environment, me)}
      body={words.deleteAsk}
      act={() => got(api.DELETE("/danlu/v1/environments/{name}", pathTo(environment)))}
      then={gone}
    />
  );
}

/** Gives the GPUs back and keeps the rest; offered where there are any. */
export function DropGpus({ environment }: { environment: Environment }) {
  const words = useEnvironmentWords();
  const me = useMe();
  const again = useAgain();
  const asked = gpusAsked(environment);
  if (asked === 0 || !mayOf(environment, me).start) return null;
  const { state } = environment;
  const waiting = state === "queued";
  const body = waiting ? words.dropAskWaiting : isActive(environment) ? words.dropAskRunning : words.dropAskStopped;
  return (
    <AskingButton
      small={false}
      name={asked > 1 ? words.dropGpus : words.dropGpu}
      of={shownName(environment, me)}
      body={body}
      act={() => got(api.PATCH("/danlu/v1/environments/{name}", { ...pathTo(environment), body: { gpus: 0, restart: isActive(environment) && !waiting } }))}
      then={again}
    />
  );
}
