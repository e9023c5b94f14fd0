// What the strips in JupyterLab and VS Code have in common: words, times, questions to the gateway. Each of the two programs loads
// one file only, so the supervisor puts their own part (lab.js, code.js) behind this one, and both into one pair of braces.
const LOOK_EVERY = 30_000;
const SOON = 600; // seconds

const WORDS = {
  en: {
    left: (time) => `${time} left`,
    idle: (time) => `unused: stops in ${time}`,
    endless: "no time limit",
    away: "Danlu does not answer",
    extend: "One hour more",
    extendShort: "+1 h",
    used: "Still in use",
    save: "Save as an image, on Danlu's page",
    saveShort: "Save",
    stop: "Stop",
    stopAsk: (name) => `Stop ${name}?`,
    stopBody: "Running notebooks and programs end. Files in your folders stay, and you can start it again.",
    cancel: "Cancel",
    stopping: "Stopping",
    soon: (name, time) => `${name} will be stopped in ${time}`,
    only: (owner) => `Only ${owner} can extend, save and stop it`,
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
    extendShort: "延长 1 小时",
    used: "仍在使用",
    save: "在丹炉页面上保存为镜像",
    saveShort: "保存",
    stop: "停止",
    stopAsk: (name) => `停止 ${name}？`,
    stopBody: "正在运行的笔记本和程序将结束。你目录中的文件会保留，之后可以再次启动。",
    cancel: "取消",
    stopping: "正在停止",
    soon: (name, time) => `${name} 将在${time}后停止`,
    only: (owner) => `只有 ${owner} 可以延长、保存和停止它`,
    hours: (hours, minutes) => `${hours} 小时 ${minutes} 分钟`,
    minutes: (minutes) => `${minutes} 分钟`,
    moment: "不到 1 分钟",
  },
};

/** `act`: undefined to look only. */
async function ask(act) {
  const order = act === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Danlu-Strip": "1" },
    body: JSON.stringify({ act }),
  };
  const url = new URL("/.danlu/strip", self.origin).href;
  const answer = await fetch(url, { ...order, cache: "no-store", credentials: "same-origin" });
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

/** Each program draws it its own way: draw(view), isSeen(), warn(text, label), complain(text). */
class Strip {
  constructor() {
    this.told = null; // null: there is no environment to tell of
    this.at = 0;
    this.away = false;
    this.stopping = false;
    this.warned = "";
  }

  get words() {
    return WORDS[this.told?.language] ?? WORDS.en;
  }

  /** Leads to the platform's page. VS Code would take that address for the task's own, if it is one of localhost. */
  get savePage() {
    return new URL("/.danlu/save", self.origin).href;
  }

  async look() {
    if (this.isSeen()) {
      try {
        this.hear(await ask());
      } catch (error) {
        if (error.status === 404 || error.status === 401) this.told = null; // not an environment, or signed out
        this.away = true;
      }
    }
    this.show();
  }

  hear(told) {
    this.told = told;
    this.at = Date.now();
    this.away = false;
  }

  show() {
    const view = this.told === null ? null : this.view();
    this.draw(view);
    if (view?.soon && !this.stopping) this.warnOnce(view);
  }

  /** Seconds left now, of what was told some time ago. */
  left(seconds) {
    return seconds === null ? null : Math.max(0, seconds - (Date.now() - this.at) / 1000);
  }

  view() {
    const { words, told } = this;
    const ends = this.left(told.ends_in);
    const idle = this.left(told.idle_in);
    const byIdle = idle !== null && (ends === null || idle < ends);
    const left = byIdle ? idle : ends;
    const time = left === null ? words.endless : (byIdle ? words.idle : words.left)(timeOf(left, words));
    return {
      text: this.stopping ? words.stopping : time,
      lines: [`${told.owner}/${told.name}`, told.doing[told.language], this.away ? words.away : ""].filter(Boolean),
      left,
      byIdle,
      soon: left !== null && left < SOON,
      extends: told.acts && left !== null,
      extendText: ends === null ? words.used : words.extend,
      extendShort: ends === null ? words.used : words.extendShort,
    };
  }

  /** Once for each end that comes near. */
  warnOnce({ left, byIdle, extendText }) {
    const end = Math.round((Date.now() / 1000 + left) / 120);
    if ([`${byIdle} ${end}`, `${byIdle} ${end + 1}`].includes(this.warned)) return;
    this.warned = `${byIdle} ${end}`;
    const { words, told } = this;
    this.warn(words.soon(told.name, timeOf(left, words)), told.acts ? extendText : null);
  }

  /** Whether it was done. */
  async act(what) {
    try {
      this.hear(await ask(what));
      this.stopping = this.stopping || what === "stop";
      return true;
    } catch (error) {
      this.complain(error.message);
      return false;
    } finally {
      this.show();
    }
  }
}
