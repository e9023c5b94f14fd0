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
  // The file centre: what its first list needs, all at once. The addresses are those the page itself asks for. Browsers
  // use few connections to one server: what the list does not need comes later.
  var early = {};
  var place = location.pathname;
  var files = place === "/files" || place.indexOf("/files/") === 0;
  if (files) {
    var sooner = function (path) {
      early["/danlu/v1/" + path] = ask(path);
    };
    try {
      var path = encodeURIComponent(place.slice(6).split("/").map(decodeURIComponent).join("/").replace(/\/+$/, ""));
      var view = JSON.parse(kept("danlu.files") || "{}");
      var sort = /^-?(name|size|modified)$/.test(view.sort) ? view.sort : "name";
      if (path !== "") {
        sooner("files/list?path=" + path + "&sort=" + sort + "&hidden=" + (view.hidden === true) + "&offset=0&limit=200");
        sooner("files/stat?path=" + path);
      }
    } catch {
      // Half of a character in the address, or a view that is none: the page asks by itself.
    }
    sooner("files/roots");
  }
  window.danluEarly = early;
  window.danluFirst = { session: ask("session"), stop: stop };
  if (!files) window.danluFirst.stream = ask("stream?nodes=true&brief=true&beat=5");
})();
