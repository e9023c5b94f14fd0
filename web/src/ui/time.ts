import type { Words } from "../i18n/en";

type Times = Words["time"];

/** Clock time, with the day where it is not today; in the viewer's zone. */
export function clock(seconds: number, words: Times, now = Date.now()): string {
  const at = new Date(seconds * 1000);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  const days = Math.round((midnight(at) - midnight(new Date(now))) / 86_400_000);
  if (days === 0) return time;
  if (days === 1) return words.tomorrow(time);
  if (days > 1 && days < 7) return `${words.weekdays[at.getDay()]} ${time}`;
  if (days < 0 && days > -7) return `${words.weekdays[at.getDay()]} ${time}`;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

/** An estimate is not known to the minute: to 5 minutes under 2 hours, 10 under 12, else to the hour. */
export function about(seconds: number, words: Times, now = Date.now()): string {
  const ahead = seconds - now / 1000;
  const step = ahead < 7200 ? 300 : ahead < 43_200 ? 600 : 3600;
  // Not of the hour of UTC: zones may be half an hour apart.
  const shift = new Date(seconds * 1000).getTimezoneOffset() * 60;
  return clock(Math.ceil((seconds - shift) / step) * step + shift, words, now);
}

export function duration(seconds: number, words: Times): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return words.s(s);
  if (s < 600 && s % 60) return words.minS(Math.floor(s / 60), s % 60);
  const min = Math.round(s / 60);
  if (min < 60) return words.min(min);
  const h = Math.floor(min / 60);
  if (h < 24) return min % 60 ? words.hMin(h, min % 60) : words.h(h);
  return words.d(Math.floor(h / 24), h % 24);
}

export function seconds(at: number): string {
  const date = new Date(at * 1000);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

const two = (n: number) => String(n).padStart(2, "0");
const midnight = (at: Date) => new Date(at.getFullYear(), at.getMonth(), at.getDate()).getTime();
