import { useNodes } from "../api/stream";
import { useWords } from "../i18n";

export function Models({ value, set }: { value: string; set: (value: string) => void }) {
  const words = useWords().submit;
  const nodes = useNodes();
  const models = [...new Set([...(nodes?.values() ?? [])].flatMap((node) => node.gpus.map((gpu) => gpu.model)))].sort();
  if (value !== "" && !models.includes(value)) models.push(value);
  return (
    <label className="field">
      <span>{words.model}</span>
      <select className="input" value={value} onChange={(event) => set(event.target.value)}>
        <option value="">{words.anyModel}</option>
        {models.map((model) => <option key={model}>{model}</option>)}
      </select>
    </label>
  );
}
