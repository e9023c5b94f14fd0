import { NavLink } from "react-router";
import { useDataWords } from "../i18n/data";
import "./manage.css";

/** Files, datasets, images and disks are one place of the top bar. */
export function SectionTabs() {
  const words = useDataWords().tabs;
  return (
    <nav className="tabs" aria-label={words.main}>
      {(["files", "datasets", "images", "disks"] as const).map((key) => <NavLink key={key} to={`/${key}`}>{words[key]}</NavLink>)}
    </nav>
  );
}
