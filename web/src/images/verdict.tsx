import { useWords } from "../i18n";
import { useImageWords } from "../i18n/images";
import { Clock, Cross, Question, Tick } from "../ui/icons";
import { clock } from "../ui/time";
import type { Image } from "./asks";

const LOOKS: Record<string, [typeof Tick, string]> = { ok: [Tick, "go"], failed: [Cross, "bad"], running: [Clock, "wait"] };

/** What was found when it was tried out. */
export function Verified({ image }: { image: Image }) {
  const words = useImageWords();
  const { time } = useWords();
  const [Icon, tone] = LOOKS[image.verified] ?? [Question, ""];
  return (
    <span className={`badge ${tone}`} title={image.verified_at === null ? undefined : words.verifiedAt(clock(image.verified_at, time))}>
      <Icon size={13} />
      {image.verified === "ok" && image.works.length > 0 ? words.worksWith(image.works.map((each) => words.checks[each] ?? each)) : (words.verdicts[image.verified] ?? image.verified)}
    </span>
  );
}
