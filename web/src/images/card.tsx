import { Link } from "react-router";
import { useMe } from "../api/session";
import { useImageWords } from "../i18n/images";
import { CopyButton } from "../ui/copy";
import { Right, Warn } from "../ui/icons";
import { size } from "../ui/values";
import { mayOf, pathOf, type Image } from "./asks";
import { Decide } from "./acts";
import { ShareButton } from "./share";
import { Verified } from "./verdict";

export const jobWith = (name: string) => `/submit?change=${encodeURIComponent(JSON.stringify({ image: name }))}`;
export const environmentWith = (name: string) => `/environments/new?image=${encodeURIComponent(name)}`;

/** Where it comes from, how large it is, and who else has it. */
export function useFacts() {
  const words = useImageWords();
  const me = useMe();
  return (image: Image): string[] => {
    const everybody = image.shares.some((share) => share.kind === "everybody");
    // A list does not tell with whom each is shared.
    const alone = "checks" in image && image.owner === me.user ? words.privateNote : "";
    const shares = image.ready || everybody ? words.everybody : image.shares.length > 0 ? words.sharedWith(image.shares.length) : alone;
    return [
      image.size > 0 ? size(image.size) : words.sizeUnknown,
      ...(image.nodes.length === 0 ? [] : [words.onNodes(image.nodes.filter((node) => node.state === "present").length, image.nodes.length)]),
      words.sources[image.source] ?? image.source,
      ...(image.owner === me.user || image.ready ? [] : [words.by(image.owner)]),
      ...(shares === "" ? [] : [shares]),
    ];
  };
}

export function Card({ image }: { image: Image }) {
  const words = useImageWords();
  const me = useMe();
  const facts = useFacts();
  const failed = image.nodes.filter((node) => node.state === "failed").map((node) => node.node);
  const may = mayOf(image, me);
  return (
    <article className="card image">
      <div className="head">
        <div className="grow">
          <h3><Link className="mono breakable" to={pathOf(image)}>{image.name}</Link></h3>
          <p className="row wrap badges">
            <Verified image={image} />
            {image.ready && <span className="badge">{words.ready}</span>}
            {image.proposal === "proposed" && <span className="badge wait">{words.proposal["proposed"]}</span>}
            {image.proposal === "rejected" && image.owner === me.user && <span className="badge bad" title={image.proposal_note}>{words.proposal["rejected"]}</span>}
          </p>
        </div>
        <Link className="button small plain" to={pathOf(image)} aria-label={`${words.details}: ${image.name}`}><Right /></Link>
      </div>
      <div className="body">
        {image.description !== "" && <p className="breakable lines">{image.description}</p>}
        <p className="note">{facts(image).join(" · ")}</p>
        {failed.length > 0 && <p className="problem"><Warn size={13} /> {words.failedOn(failed.join(", "))}</p>}
        <div className="row wrap">
          <Link className="button small" to={jobWith(image.name)} aria-label={`${words.use}: ${image.name}`}>{words.use}</Link>
          <Link className="button small" to={environmentWith(image.name)} aria-label={`${words.useEnvironment}: ${image.name}`}>{words.useEnvironment}</Link>
          <CopyButton text={image.name} name={words.copyName} done={words.copied} label={`${words.copyName}: ${image.name}`} />
          {may.share && <ShareButton image={image} />}
          {may.decide && <Decide image={image} />}
        </div>
      </div>
    </article>
  );
}
