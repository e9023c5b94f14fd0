// The strip in JupyterLab's top bar. Written as webpack would write it, so that nothing has to be built: JupyterLab loads this
// file, hands it the modules that it shares, and asks it for its plugin.
(() => {
  const NAME = "danlu-strip";
  const LOOK_EVERY = 30_000;
  const SOON = 600; // seconds

  const WORDS = {
    en: {
      left: (time) => `${time} left`,
      idle: (time) => `unused: stops in ${time}`,
      endless: "no time limit",
      away: "Danlu does not answer",
      extend: "+1 h",
      extendTitle: "One hour more",
      used: "Still in use",
      save: "Save",
      saveTitle: "Save as an image, on Danlu's page",
      stop: "Stop",
      stopTitle: (name) => `Stop ${name}?`,
      stopBody: "Running notebooks and programs end. Files in your folders stay, and you can start it again.",
      cancel: "Cancel",
      stopping: "Stopping",
      soon: (name, time) => `${name} will be stopped in ${time}`,
      hours: (hours, minutes) => `${hours} h ${minutes} min`,
      minutes: (minutes) => `${minutes} min`,
      moment: "less than a minute",
    },
    zh: {
      left: (time) => `剩余 ${time}`,
      idle: (time) => `无人使用，${time}后停止`,
      endless: "无时间限制",
      away: "丹炉暂无响应",
      extend: "延长 1 小时",
      extendTitle: "延长 1 小时",
      used: "仍在使用",
      save: "保存",
      saveTitle: "在丹炉页面上保存为镜像",
      stop: "停止",
      stopTitle: (name) => `停止 ${name}？`,
      stopBody: "正在运行的笔记本和程序将结束。你目录中的文件会保留，之后可以再次启动。",
      cancel: "取消",
      stopping: "正在停止",
      soon: (name, time) => `${name} 将在${time}后停止`,
      hours: (hours, minutes) => `${hours} 小时 ${minutes} 分钟`,
      minutes: (minutes) => `${minutes} 分钟`,
      moment: "不到 1 分钟",
    },
  };

  const STYLE = `
    #danlu-strip { display: flex; align-items: center; gap: 6px; padding: 0 8px; min-height: 100%; white-space: nowrap;
      font-size: var(--jp-ui-font-size1); color: var(--jp-ui-font-color1); }
    #danlu-strip[hidden] { display: none; }
    #danlu-strip.soon .time { color: var(--jp-warn-color0, #b45309); font-weight: 600; }
    #danlu-strip.away .time { opacity: .6; }
    #danlu-strip button { font: inherit; color: inherit; background: transparent; cursor: pointer; padding: 1px 7px;
      border: 1px solid var(--jp-border-color1); border-radius: 3px; line-height: 18px; }
    #danlu-strip button:hover:not(:disabled) { background: var(--jp-layout-color2); }
    #danlu-strip button:disabled { opacity: .5; cursor: default; }
    @media (max-width: 760px) { #danlu-strip .wide { display: none; } }
  `;

  let modules = {};

  /** A module that JupyterLab has loaded itself. */
  async function shared(name) {
    const [found] = Object.values(modules[name]);
    return (await found.get())();
  }

  async function ask(act) {
    const order = act === undefined ? {} : {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Danlu-Strip": "1" },
      body: JSON.stringify({ act }),
    };
    const answer = await fetch("/.danlu/strip", { ...order, cache: "no-store", credentials: "same-origin" });
    const told = await answer.json();
    if (answer.ok) return told;
    const error = new Error(told.error?.[told.language] ?? answer.statusText);
    error.status = answer.status;
    throw error;
  }

  function timeOf(seconds, words) {
    const minutes = Math.floor(seconds / 60);
    if (minutes < 1) return words.moment;
    return minutes < 60 ? words.minutes(minutes) : words.hours(Math.floor(minutes / 60), minutes % 60);
  }

  class Strip {
    constructor(node, dialogs) {
      this.node = node;
      this.dialogs = dialogs;
      this.told = null;
      this.at = 0;
      this.away = false;
      this.warned = "";
      this.busy = false;
      node.hidden = true;
      node.setAttribute("role", "group");
      node.setAttribute("aria-label", "Danlu 丹炉");
      this.time = node.appendChild(Object.assign(document.createElement("span"), { className: "time" }));
      this.time.setAttribute("role", "status");
      this.extend = this.button("extend", () => this.act("extend"));
      this.save = this.button("save", () => window.open(`${this.told.page}?save`, "_blank", "noopener,noreferrer"));
      this.stop = this.button("stop", () => this.askToStop());
    }

    button(name, act) {
      const made = this.node.appendChild(Object.assign(document.createElement("button"), { type: "button", className: name }));
      made.addEventListener("click", () => void act());
      return made;
    }

    get words() {
      return WORDS[this.told.language] ?? WORDS.en;
    }

    /** Seconds left now, of what was told some time ago. */
    left(seconds) {
      return seconds === null ? null : Math.max(0, seconds - (Date.now() - this.at) / 1000);
    }

    async look() {
      if (document.hidden) return;
      try {
        this.hear(await ask());
      } catch (error) {
        if (error.status === 404 || error.status === 401) this.told = null; // not an environment, or signed out
        this.away = true;
      }
      this.show();
    }

    hear(told) {
      this.told = told;
      this.at = Date.now();
      this.away = false;
    }

    show() {
      this.node.hidden = this.told === null;
      if (this.told === null) return;
      const { words, told } = this;
      const ends = this.left(told.ends_in);
      const idle = this.left(told.idle_in);
      const byIdle = idle !== null && (ends === null || idle < ends);
      const left = byIdle ? idle : ends;
      const soon = left !== null && left < SOON;
      const doing = told.doing[told.language];
      this.time.textContent = left === null ? words.endless : (byIdle ? words.idle : words.left)(timeOf(left, words));
      this.time.title = [told.owner + "/" + told.name, doing, this.away ? words.away : ""].filter(Boolean).join(" · ");
      this.node.classList.toggle("soon", soon);
      this.node.classList.toggle("away", this.away);
      this.label(this.extend, ends === null ? words.used : words.extend, ends === null ? words.used : words.extendTitle);
      this.label(this.save, words.save, words.saveTitle);
      this.label(this.stop, words.stop, words.stopTitle(told.name));
      this.extend.hidden = !told.acts || left === null;
      this.save.hidden = !told.saves;
      this.stop.hidden = !told.acts;
      for (const button of [this.extend, this.stop]) button.disabled = this.busy;
      if (soon) this.warn(left, byIdle);
    }

    label(button, text, title) {
      button.textContent = text;
      button.title = title;
    }

    /** Once for each end that comes near. */
    warn(left, byIdle) {
      const end = `${byIdle} ${Math.round((Date.now() / 1000 + left) / 120)}`;
      const known = [end, `${byIdle} ${Math.round((Date.now() / 1000 + left) / 120) + 1}`];
      if (known.includes(this.warned)) return;
      this.warned = end;
      const { words, told } = this;
      const label = told.ends_in === null ? words.used : words.extendTitle;
      const actions = told.acts ? [{ label, callback: () => void this.act("extend") }] : [];
      this.dialogs.Notification.warning(words.soon(told.name, timeOf(left, words)), { autoClose: false, actions });
    }

    async act(what) {
      this.busy = true;
      this.show();
      try {
        this.hear(await ask(what));
      } catch (error) {
        this.dialogs.Notification.error(error.message, { autoClose: 10_000 });
      } finally {
        this.busy = false;
        this.show();
      }
    }

    async askToStop() {
      const { Dialog, showDialog } = this.dialogs;
      const { words } = this;
      const buttons = [Dialog.cancelButton({ label: words.cancel }), Dialog.warnButton({ label: words.stop })];
      const answer = await showDialog({ title: words.stopTitle(this.told.name), body: words.stopBody, buttons });
      if (!answer.button.accept) return;
      await this.act("stop");
      this.time.textContent = words.stopping;
    }
  }

  const plugin = {
    id: `${NAME}:plugin`,
    description: "Time left of this environment",
    autoStart: true,
    async activate(app) {
      const [{ Widget }, dialogs] = await Promise.all([shared("@lumino/widgets"), shared("@jupyterlab/apputils")]);
      const widget = new Widget();
      widget.id = NAME;
      document.head.appendChild(Object.assign(document.createElement("style"), { textContent: STYLE }));
      const strip = new Strip(widget.node, dialogs);
      app.shell.add(widget, "top", { rank: 10_010 }); // after the spacer, so at the right
      void app.restored.then(() => strip.look()); // which waits for all plugins, so this one may not wait for it
      setInterval(() => void strip.look(), LOOK_EVERY);
      document.addEventListener("visibilitychange", () => void strip.look());
    },
  };

  window._JUPYTERLAB = window._JUPYTERLAB ?? {};
  window._JUPYTERLAB[NAME] = {
    init: (given) => {
      modules = given;
    },
    get: async () => () => ({ __esModule: true, default: plugin }),
  };
})();
