import { useInfiniteQuery } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { useSearchParams } from "react-router";
import { api, got } from "../api/client";
import { useSaid, useWords } from "../i18n";
import { useManageWords } from "../i18n/manage";
import { DataTable, Field, Section, Wrong } from "../ui/manage";
import { clock, seconds } from "../ui/time";

const PAGE = 50;
const FILTERS = ["actor", "act", "thing", "since"] as const;

/** Who did what. The filters are in the address, so that a view can be sent to a colleague. */
export function Audit() {
  const { time, jobs } = useWords();
  const all = useManageWords();
  const words = all.audit;
  const said = useSaid();
  const [address, setAddress] = useSearchParams();
  const values = Object.fromEntries(FILTERS.map((key) => [key, address.get(key) ?? ""]));
  const day = values["since"] ? new Date(`${values["since"]}T00:00`).getTime() / 1000 : NaN;
  const query = {
    limit: PAGE,
    ...(values["actor"] ? { actor: values["actor"] } : {}),
    ...(values["act"] ? { act: values["act"] } : {}),
    ...(values["thing"] ? { thing: values["thing"] } : {}),
    ...(Number.isFinite(day) ? { since: day } : {}),
  };
  const asked = useInfiniteQuery({
    queryKey: ["audit", query],
    queryFn: ({ pageParam }) => got(api.GET("/danlu/v1/audit", { params: { query: { ...query, ...(pageParam ? { before: pageParam } : {}) } } })),
    initialPageParam: 0,
    getNextPageParam: (page) => page.next ?? undefined,
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const next = new URLSearchParams();
    for (const key of FILTERS) {
      const value = String(form.get(key) ?? "").trim();
      if (value !== "") next.set(key, value);
    }
    setAddress(next);
  };
  return (
    <Section title={all.admin.tabs["audit"] ?? ""}>
      <form className="body" key={address.toString()} onSubmit={submit} role="search">
        <Field label={words.actor}>
          <input className="input" name="actor" defaultValue={values["actor"]} maxLength={200} />
        </Field>
        <Field label={words.act}>
          <input className="input" name="act" placeholder={words.actHint} defaultValue={values["act"]} maxLength={200} />
        </Field>
        <Field label={words.thing}>
          <input className="input" name="thing" defaultValue={values["thing"]} maxLength={200} />
        </Field>
        <Field label={words.since}>
          <input className="input" name="since" type="date" defaultValue={values["since"]} />
        </Field>
        <button className="button">{jobs.filter}</button>
      </form>
      <Wrong error={asked.error} />
      <DataTable
        rows={asked.data?.pages.flatMap((page) => page.lines)}
        keyOf={(line) => line.seq}
        none={words.none}
        columns={[
          { title: words.at, cell: (line) => <span title={`${new Date(line.at * 1000).toLocaleDateString()} ${seconds(line.at)}`}>{clock(line.at, time)}</span> },
          { title: words.said, cell: (line) => <span className="breakable">{said(line)}</span> },
          { title: words.act, cell: (line) => <span className="mono note">{line.act}</span>, kind: "wide-only" },
          { title: words.from, cell: (line) => <span className="mono note">{line.address || "—"}</span>, kind: "wide-only" },
        ]}
      />
      {asked.hasNextPage && (
        <div className="more">
          <button className="button" disabled={asked.isFetchingNextPage} onClick={() => void asked.fetchNextPage()}>{words.older}</button>
        </div>
      )}
    </Section>
  );
}
