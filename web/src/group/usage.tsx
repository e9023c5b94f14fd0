import { useState } from "react";
import type { Schemas } from "../api/client";
import { useWords } from "../i18n";
import { useManageWords } from "../i18n/manage";
import { Section } from "../ui/manage";
import { tint } from "../ui/people";
import { amount } from "../ui/values";

type Usage = Schemas["GroupUsage"];
const hours = (seconds: number) => amount(Math.round(seconds / 360) / 10);

/** GPU-hours by day, one bar a day, the members stacked in it. */
export function UsageChart({ usage, days }: { usage: Usage; days: number }) {
  const words = useManageWords().group;
  const { time } = useWords();
  const [chosen, setChosen] = useState<number | null>(null);
  const sums = Array.from({ length: days }, (_, day) => usage.members.reduce((sum, member) => sum + (member.days[day] ?? 0), 0));
  const most = Math.max(...sums, 1);
  const date = (day: number) => {
    const at = new Date((usage.since + day * 86_400 + 43_200) * 1000);
    return `${time.weekdays[at.getDay()]} ${at.getMonth() + 1}/${at.getDate()}`;
  };
  const told = (day: number) => {
    const parts = usage.members.filter((member) => (member.days[day] ?? 0) > 0).map((member) => `${member.user} ${hours(member.days[day] ?? 0)}`);
    return `${date(day)}: ${hours(sums[day] ?? 0)} ${words.gpuHours}${parts.length > 0 ? ` (${parts.join(", ")})` : ""}`;
  };
  return (
    <Section title={words.usage} note={chosen === null ? words.usageNote(hours(most)) : told(chosen)}>
      <div className="usage body" role="img" aria-label={words.usageSentence(hours(usage.gpu_seconds), days, hours(most))} onPointerLeave={() => setChosen(null)}>
        {sums.map((sum, day) => (
          <div key={day} className="day" onPointerEnter={() => setChosen(day)}>
            {usage.members.map((member) => (
              <i key={member.user} style={{ height: `${(100 * (member.days[day] ?? 0)) / most}%`, background: `var(--p${tint(member.user)})` }} />
            ))}
            {sum === 0 && <i className="nothing" />}
          </div>
        ))}
      </div>
      <div className="usage-axis note" aria-hidden="true">
        <span>{date(0)}</span>
        <span>{date(days - 1)}</span>
      </div>
      {!usage.whole && <p className="none problem">{words.notWhole}</p>}
      <ul className="hidden-text">
        {sums.map((sum, day) => sum > 0 && <li key={day}>{told(day)}</li>)}
      </ul>
    </Section>
  );
}
