import { Link } from "react-router";
import { useWords } from "../i18n";

export default function NotFound() {
  const words = useWords();
  return (
    <div className="empty">
      <h1>{words.error.notFoundTitle}</h1>
      <p className="dim">{words.error.notFound}</p>
      <Link className="button" to="/">{words.error.home}</Link>
    </div>
  );
}
