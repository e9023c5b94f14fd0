// Runs before the first paint: the chosen theme and language, so that nothing flashes; and asks for what every
// page needs while the pages themselves are still on their way.
(function () {
  var root = document.documentElement;
  var kept = function (key) {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  };
  var theme = kept("danlu.theme");
  if (theme !== "dark" && theme !== "light")
    theme = matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
  root.dataset.theme = theme;
  var lang = kept("danlu.lang") || (/^zh/i.test(navigator.language) ? "zh" : "en");
  root.lang = lang === "zh" ? "zh-CN" : "en";
  if (kept("danlu.in") !== "yes") return;
  var stop = new AbortController();
  var ask = function (path) {
    return fetch("/danlu/v1/" + path, { signal: stop.signal, cache: "no-store" }).catch(() => null);
  };
  window.danluFirst = { session: ask("session"), stream: ask("stream?nodes=true&brief=true&beat=5"), stop: stop };
})();
