import { useSyncExternalStore } from "react";
import { keep } from "../i18n";

const tellers = new Set<() => void>();

function current(): "dark" | "light" {
  return document.documentElement.dataset["theme"] === "light" ? "light" : "dark";
}

export function chooseTheme(theme: "dark" | "light"): void {
  document.documentElement.dataset["theme"] = theme;
  keep("danlu.theme", theme);
  tellers.forEach((tell) => tell());
}

export function useTheme(): "dark" | "light" {
  return useSyncExternalStore((tell) => {
    tellers.add(tell);
    return () => tellers.delete(tell);
  }, current);
}

/** The value of a token now, for what is drawn and not styled. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
