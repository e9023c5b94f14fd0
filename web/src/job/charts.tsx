import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { api, got, type Schemas } from "../api/client";
import { useNodes } from "../api/stream";
import { useWords } from "../i18n";
import { token, useTheme } from "../ui/theme";
import { clock } from "../ui/time";
import { amount, bytesOf, size } from "../ui/values";
import "./charts.css";
import type { JobDetail } from "./page";

type Metrics = Schemas["JobMetrics"];
interface Part {
  name: string;
  title: string;
  colour: string;
  shown: (value: number) => string;
  dash?: number[];
  limit?: { name: string; value: number } | null;
}

/** Small charts on one time axis; pointing at one shows the moment in all. */
export default function Charts({ job }: { job: JobDetail }) {
  const { charts: words, time } = useWords();
  const nodes = useNodes();
  const ended = job.ended_at !== null;
  const answer = useQuery({
    queryKey: ["metrics", job.id, ended],
    queryFn: () => got(api.GET("/danlu/v1/jobs/{ref}/metrics", { params: { path: { ref: job.id }, query: { points: 200 } } })),
    refetchInterval: ended ? false : 10_000,
  });
  const metrics = answer.data;
  if (metrics === undefined) return null;
  const percent = (value: number) => `${Math.round(value * 100)} %`;
  const rate = (value: number) => `${size(value)}/s`;
  // Of all tasks together, as the lines are; a job of several roles has no one number.
  const asked = (each: number | null, name: string) => (each === null ? null : { name, value: each * job.task_count });
  const cpus = asked(Number(job.spec["cpus"]) || null, words.asked);
  const memory = asked(bytesOf(job.spec["memory"]), words.limit);
  const onGpus = job.tasks.flatMap((task) => task.gpus.map((index) => nodes?.get(task.node ?? "")?.gpus.find((gpu) => gpu.index === index)?.memory ?? 0));
  const gpuMemory = onGpus.length > 0 && !onGpus.includes(0) ? { name: words.limit, value: onGpus.reduce((sum, each) => sum + each, 0) } : null;
  const charts: Part[][] = [
    [{ name: "gpu", title: words.gpu, colour: "ember", shown: percent }],
    [{ name: "gpu_memory", title: words.gpuMemory, colour: "ember", shown: size, limit: gpuMemory }],
    [{ name: "cpu", title: words.cpu, colour: "wait", shown: (value) => amount(value), limit: cpus }],
    [{ name: "memory", title: words.memory, colour: "wait", shown: size, limit: memory }],
    [
      { name: "disk_read", title: words.read, colour: "go", shown: rate },
      { name: "disk_written", title: words.written, colour: "out", shown: rate, dash: [4, 3] },
    ],
    [
      { name: "net_received", title: words.received, colour: "go", shown: rate },
      { name: "net_sent", title: words.sent, colour: "out", shown: rate, dash: [4, 3] },
    ],
  ];
  const measured = charts
    .map((parts) => parts.filter((part) => valuesOf(metrics, part.name).some((value) => value !== null)))
    .filter((parts) => parts.length > 0);
  return (
    <section className="card charts" aria-label={words.title}>
      {measured.length === 0 && <p className="note body">{words.none}</p>}
      {measured.map((parts) => (
        <Chart key={parts[0]?.name} parts={parts} metrics={metrics} group={job.id} />
      ))}
      {measured.length > 0 && (
        <div className="time-axis note">
          {[0, 0.5, 1].map((part) => <span key={part}>{clock(metrics.since + part * metrics.step * (lengthOf(metrics) - 1), time)}</span>)}
        </div>
      )}
    </section>
  );
}

function lengthOf(metrics: Metrics): number {
  return Math.max(1, ...metrics.series.map((series) => series.mean.length));
}

function valuesOf(metrics: Metrics, name: string): (number | null)[] {
  return metrics.series.find((series) => series.name === name)?.mean ?? [];
}

function Chart({ parts, metrics, group }: { parts: Part[]; metrics: Metrics; group: string }) {
  const words = useWords().charts;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const theme = useTheme();
  const lines = parts.map((part) => valuesOf(metrics, part.name));
  const length = Math.max(...lines.map((line) => line.length));
  const times = Array.from({ length }, (_, index) => metrics.since + index * metrics.step);
  const limit = parts[0]?.limit ?? null;
  const most = useRef(0);
  most.current = limit?.value ?? 0;
  const data = [times, ...lines, ...(limit === null ? [] : [times.map(() => limit.value)])] as uPlot.AlignedData;
  const latest = useRef(data);
  latest.current = data;
  const key = parts.map((part) => part.name).join() + (limit === null ? "" : " limit");
  useEffect(() => {
    const element = box.current as HTMLDivElement;
    const made = new uPlot(
      {
        width: element.clientWidth || 300,
        height: 84,
        legend: { show: false },
        cursor: { sync: { key: group }, y: false, points: { show: false }, drag: { x: false, y: false } },
        axes: [{ show: false }, { show: false }],
        scales: { y: { range: (_, _low, high) => [0, Math.max(high * 1.15, most.current * 1.1, 1e-9)] } },
        series: [
          {},
          ...parts.map((part) => ({ stroke: token(part.colour), width: 1.5, ...(part.dash ? { dash: part.dash } : {}), points: { show: false } })),
          ...(limit === null ? [] : [{ stroke: token("edge"), width: 1, dash: [4, 4], points: { show: false } }]),
        ],
      },
      latest.current,
      element,
    );
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: 84 }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [key, group, theme]);
  useEffect(() => plot.current?.setData(data));
  const last = (line: (number | null)[]) => [...line].reverse().find((value) => value !== null) ?? null;
  const median = (line: (number | null)[]) => {
    const known = line.filter((value): value is number => value !== null).sort((a, b) => a - b);
    return known[Math.floor(known.length / 2)] ?? 0;
  };
  return (
    <figure>
      <figcaption>
        {parts.map((part, index) => {
          const now = last(lines[index] ?? []);
          return (
            <span key={part.name} title={words.sentence(part.shown(now ?? 0), part.shown(median(lines[index] ?? [])))}>
              <i style={{ borderTopColor: `var(--${part.colour})`, borderTopStyle: part.dash ? "dashed" : "solid" }} />
              {part.title} <b>{now === null ? "—" : part.shown(now)}</b>
            </span>
          );
        })}
        {limit !== null && (
          <span>
            <i className="limit" />
            {limit.name} <b>{parts[0]?.shown(limit.value)}</b>
          </span>
        )}
      </figcaption>
      <div ref={box} aria-hidden="true" />
      <span className="hidden-text">
        {parts.map((part, index) => `${part.title}: ${words.sentence(part.shown(last(lines[index] ?? []) ?? 0), part.shown(median(lines[index] ?? [])))}`).join(". ")}
      </span>
    </figure>
  );
}
