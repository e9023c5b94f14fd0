// Runs before the first paint: the chosen theme and language, so that nothing flashes.
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
})();
