import { lazy, Suspense, useEffect, type ReactNode } from "react";
import { Link, NavLink, useLocation } from "react-router";
import { useNews } from "../api/news";
import { useMe } from "../api/session";
import { useStatus } from "../api/stream";
import { useWords } from "../i18n";
import type { Words } from "../i18n/en";
import { Teller } from "../map/tell";
import { Folder, Gear, Grid, List, Logo, People, Plus, Screen } from "../ui/icons";
import { useActive } from "../uploads/active";
import { Away } from "./away";
import { DemoBar } from "./demo";
import { DiskBar } from "./disk";
import "./frame.css";
import { Keys } from "./keys";
import { MyMenu } from "./menu";

const Tray = lazy(() => import("../uploads/tray"));

export interface Place {
  to: string;
  /** Other addresses that belong to it. */
  also?: string[];
  name: keyof Words["nav"];
  icon: (props: { size?: number }) => ReactNode;
  phone?: boolean;
  admin?: boolean;
  leader?: boolean;
}

/** In the order of the top bar. */
const PLACES: Place[] = [
  { to: "/", name: "gpus", icon: Grid, phone: true },
  { to: "/submit", name: "submit", icon: Plus, phone: true },
  { to: "/jobs", name: "jobs", icon: List, phone: true },
  { to: "/environments", name: "environments", icon: Screen, phone: true },
  { to: "/files", also: ["/datasets", "/images", "/disks"], name: "files", icon: Folder },
  { to: "/group", name: "group", icon: People, leader: true },
  { to: "/admin", name: "admin", icon: Gear, admin: true },
];

export function Frame({ children }: { children: ReactNode }) {
  const words = useWords();
  const me = useMe();
  const status = useStatus();
  const { pathname, search } = useLocation();
  const transfers = useActive();
  useNews();
  const places = PLACES.filter(
    (place) => (!place.admin || me.role === "admin") && (!place.leader || me.leads.length > 0 || me.role === "admin"),
  );
  const wall = pathname === "/" && new URLSearchParams(search).has("wall");
  useEffect(() => {
    document.documentElement.classList.toggle("wall", wall);
    return () => document.documentElement.classList.remove("wall");
  }, [wall]);
  return (
    <>
      <a className="skip" href="#content">{words.skip}</a>
      <DemoBar />
      <header className="top">
        <div className="in">
          <Link className="logo" to="/">
            <Logo />
            {words.name}
          </Link>
          <nav aria-label={words.nav.main}>
            {places.map((place) =>
              place.also?.some((other) => pathname.startsWith(other)) ? (
                <Link key={place.to} to={place.to} aria-current="page">{words.nav[place.name]}</Link>
              ) : (
                <NavLink key={place.to} to={place.to} end={place.to === "/"}>{words.nav[place.name]}</NavLink>
              ),
            )}
          </nav>
          <div className="grow" />
          <span className={`live ${status}`} role="status">
            {words.top[status]}
          </span>
          <MyMenu places={places.filter((place) => !place.phone)} />
        </div>
      </header>
      <main className="page" id="content">
        <Away />
        <DiskBar />
        {children}
      </main>
      <nav className="bottom" aria-label={words.nav.main}>
        {places.filter((place) => place.phone).map((place) => (
          <NavLink key={place.to} to={place.to} end={place.to === "/"}>
            <place.icon size={20} />
            {words.nav[place.name]}
          </NavLink>
        ))}
      </nav>
      <Keys />
      {!wall && <Teller />}
      {transfers && (
        <Suspense fallback={null}>
          <Tray />
        </Suspense>
      )}
    </>
  );
}

