import { useEffect, useRef, useState } from "react";
import { Link } from "react-router";
import { useMe, useSession } from "../api/session";
import { useLanguage } from "../i18n";
import { Key, Person, Sun } from "../ui/icons";
import { Initials } from "../ui/people";
import { chooseTheme, useTheme } from "../ui/theme";
import type { Place } from "./frame";
import { showKeys } from "./keys";

/** `places`: pages that have no room in the bar of a phone. */
export function MyMenu({ places }: { places: Place[] }) {
  const { lang, words, choose } = useLanguage();
  const me = useMe();
  const { signOut } = useSession();
  const theme = useTheme();
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const away = (event: Event) => {
      if (event instanceof KeyboardEvent ? event.key === "Escape" : !box.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", away);
    document.addEventListener("keydown", away);
    return () => {
      document.removeEventListener("pointerdown", away);
      document.removeEventListener("keydown", away);
    };
  }, [open]);
  const pick = (act: () => void) => () => {
    setOpen(false);
    act();
  };
  return (
    <div className="me" ref={box}>
      <button className="button plain" aria-expanded={open} aria-haspopup="menu" onClick={() => setOpen(!open)}>
        <Initials name={me.user} me />
        <span className="user-name">{me.user}</span>
        <span className="hidden-text">{words.top.menu}</span>
      </button>
      {open && (
        <div className="menu" role="menu">
          {places.map((place) => (
            <Link key={place.to} className="phone-only" role="menuitem" to={place.to} onClick={() => setOpen(false)}>
              <place.icon />
              {words.nav[place.name]}
            </Link>
          ))}
          <Link role="menuitem" to="/account" onClick={() => setOpen(false)}>
            <Person />
            {words.nav.account}
          </Link>
          <Link role="menuitem" to="/account#password" onClick={() => setOpen(false)}>
            <Key />
            {words.top.password}
          </Link>
          <button role="menuitem" lang={lang === "zh" ? "en" : "zh"} onClick={pick(() => choose(lang === "zh" ? "en" : "zh"))}>
            {words.top.language}
          </button>
          <button role="menuitem" onClick={pick(() => chooseTheme(theme === "dark" ? "light" : "dark"))}>
            <Sun />
            {words.top.theme(theme === "dark")}
          </button>
          <button role="menuitem" onClick={pick(showKeys)}>
            <span className="kbd">?</span>
            {words.top.keys}
          </button>
          <button role="menuitem" onClick={pick(() => void signOut())}>{words.top.signOut}</button>
        </div>
      )}
    </div>
  );
}
