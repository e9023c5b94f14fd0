import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, got } from "../api/client";
import { useWords } from "../i18n";
import { useManageWords } from "../i18n/manage";
import { Section, Wrong } from "../ui/manage";
import { clock } from "../ui/time";

export function Sessions() {
  const { time } = useWords();
  const all = useManageWords();
  const words = all.account;
  const queries = useQueryClient();
  const asked = useQuery({ queryKey: ["tokens", "sessions"], queryFn: () => got(api.GET("/danlu/v1/sessions")) });
  const end = useMutation({
    mutationFn: () => got(api.DELETE("/danlu/v1/sessions")),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ["tokens"] }),
  });
  const sessions = asked.data?.tokens ?? [];
  return (
    <Section
      title={words.sessions}
      note={words.sessionsNote}
      tools={<button className="button small" disabled={end.isPending} onClick={() => end.mutate()}>{words.endSessions}</button>}
    >
      <Wrong error={asked.error ?? end.error} />
      {end.data !== undefined && <p className="none done" role="status">{words.endedSessions(end.data.ended)}</p>}
      <div className="list">
        <table className="table">
          <thead>
            <tr>
              <th>{words.sessions}</th>
              <th>{words.from}</th>
              <th className="wide-only">{words.created}</th>
              <th>{words.used}</th>
            </tr>
          </thead>
          <tbody>
            {sessions.map((session) => (
              <tr key={session.id}>
                <td title={session.label}>
                  {session.kind === "browser" ? browserOf(session.label) || words.browser : session.kind === "ssh" ? "SSH" : words.commandLine}
                  {session.current && <span className="badge go here">{words.here}</span>}
                </td>
                <td className="mono">{session.address || "—"}</td>
                <td className="wide-only">{clock(session.created_at, time)}</td>
                <td>{session.last_used_at === null ? "—" : clock(session.last_used_at, time)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

/** "Firefox" of a long User-Agent. Edge and Opera call themselves Chrome, too, and Chrome Safari. */
function browserOf(agent: string): string {
  const known: [string, RegExp][] = [
    ["Edge", /Edg\//],
    ["Opera", /OPR\//],
    ["Firefox", /Firefox\//],
    ["Chrome", /Chrom(e|ium)\//],
    ["Safari", /Safari\//],
  ];
  return known.find(([, mark]) => mark.test(agent))?.[0] ?? "";
}
