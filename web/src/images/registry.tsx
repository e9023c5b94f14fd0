import { Link } from "react-router";
import { useMe } from "../api/session";
import { useImageWords } from "../i18n/images";
import { CopyButton } from "../ui/copy";
import { Section } from "../ui/manage";
import { size } from "../ui/values";
import { useRegistry } from "./server";

/** What to type, with what is true of this server and this person. */
export function RegistryCard() {
  const { registry: words, copied } = useImageWords();
  const me = useMe();
  const registry = useRegistry();
  if (registry === undefined) return null;
  if (registry === null) {
    return (
      <Section title={words.title}>
        <p className="none">{words.off}</p>
      </Section>
    );
  }
  const mine = `${registry.address}/${me.user.toLowerCase()}/torch:1`;
  const lines: [string, string][] = [
    [words.login, `docker login ${registry.address} -u ${me.user}`],
    [words.tag, `docker tag my-image ${mine}`],
    [words.push, `docker push ${mine}`],
    [words.pull, `docker pull ${mine}`],
    [words.use, `danlu run --image ${me.user.toLowerCase()}/torch:1 -- python train.py`],
  ];
  return (
    <Section title={words.title}>
      <div className="body stack registry">
        <p className="note">
          {words.note} <Link to="/account">{words.tokens}</Link>
        </p>
        {registry.usage.filter((one) => one.kind === "user" && one.quota !== null).map((one) => (
          <p key={one.name} className="note">{words.quota(size(one.used), size(one.quota ?? 0))}</p>
        ))}
        <ol>
          {lines.map(([name, line]) => (
            <li key={name}>
              <span className="note">{name}</span>
              <div className="ssh-line">
                <code>{line}</code>
                <CopyButton text={line} name={words.copy} done={copied} label={words.copyOf(line)} />
              </div>
            </li>
          ))}
        </ol>
        {!registry.tls && <p className="note breakable">{words.plain(registry.address)}</p>}
        {registry.read_only && <p className="problem">{words.readOnly}</p>}
      </div>
    </Section>
  );
}
