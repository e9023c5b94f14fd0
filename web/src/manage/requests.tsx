import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, got } from "../api/client";
import { useWords } from "../i18n";
import { useManageWords } from "../i18n/manage";
import { AskingButton, DataTable, Section, Wrong } from "../ui/manage";
import { clock } from "../ui/time";

export function useRequests(group?: string) {
  return useQuery({
    queryKey: ["requests"],
    queryFn: () => got(api.GET("/danlu/v1/requests")),
    select: (found) => (group === undefined ? found.requests : found.requests.filter((one) => one.group === group)),
  });
}

/** Who asks to be let in. */
export function Requests({ group }: { group?: string }) {
  const { time } = useWords();
  const words = useManageWords().people;
  const queries = useQueryClient();
  const asked = useRequests(group);
  const again = () => {
    for (const key of ["requests", "group", "users", "groups"]) void queries.invalidateQueries({ queryKey: [key] });
  };
  const approve = useMutation({
    mutationFn: (name: string) => api.POST("/danlu/v1/requests/{name}/approve", { params: { path: { name } } }),
    onSuccess: again,
  });
  return (
    <Section title={words.requests} note={words.requestsNote}>
      <Wrong error={asked.error ?? approve.error} />
      <DataTable
        rows={asked.data}
        keyOf={(one) => one.name}
        none={words.noRequests}
        columns={[
          { title: words.name, cell: (one) => <><b className="breakable">{one.name}</b> <span className="note">{one.full_name}</span></> },
          { title: words.group, cell: (one) => one.group ?? "—" },
          { title: words.note, cell: (one) => one.note || "—", kind: "wide-only" },
          { title: words.asked, cell: (one) => clock(one.created_at, time), kind: "wide-only" },
          {
            title: words.decide,
            kind: "acts",
            cell: (one) => (
              <>
                <button className="button small" disabled={approve.isPending} onClick={() => approve.mutate(one.name)}>{words.approve}</button>
                <AskingButton
                  name={words.decline}
                  of={one.name}
                  body={words.declineAsk(one.name)}
                  act={() => api.POST("/danlu/v1/requests/{name}/decline", { params: { path: { name: one.name } } })}
                  then={again}
                />
              </>
            ),
          },
        ]}
      />
    </Section>
  );
}
