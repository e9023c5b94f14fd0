// The strip in VS Code's status bar. It runs in the browser, where the cookie of this door is, and not with the other extensions
// in the task: nothing in the task needs to be trusted with it.
const vscode = require("vscode");

const LOOK_EVERY = 30_000;
const SOON = 600; // seconds

const WORDS = {
  en: {
    left: (time) => `${time} left`,
    idle: (time) => `unused: stops in ${time}`,
    endless: "no time limit",
    away: "Danlu does not answer",
    extend: "One hour more",
    used: "Still in use",
    save: "Save as an image, on Danlu's page",
    stop: "Stop",
    stopAsk: (name) => `Stop ${name}?`,
    stopBody: "Running programs end. Files in your folders stay, and you can start it again.",
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
    used: "仍在使用",
    save: "在丹炉页面上保存为镜像",
    stop: "停止",
    stopAsk: (name) => `停止 ${name}？`,
    stopBody: "正在运行的程序将结束。你目录中的文件会保留，之后可以再次启动。",
    stopping: "正在停止",
    soon: (name, time) => `${name} 将在${time}后停止`,
    only: (owner) => `只有 ${owner} 可以延长、保存和停止它`,
    hours: (hours, minutes) => `${hours} 小时 ${minutes} 分钟`,
    minutes: (minutes) => `${minutes} 分钟`,
    moment: "不到 1 分钟",
  },
};

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

class Strip {
  constructor() {
    this.item = vscode.window.createStatusBarItem("danlu.strip", vscode.StatusBarAlignment.Right, 10_000);
    this.item.name = "Danlu 丹炉";
    this.item.command = "danlu.menu";
    this.told = null;
    this.at = 0;
    this.away = false;
    this.warned = "";
  }

  get words() {
    return WORDS[this.told?.language] ?? WORDS.en;
  }

  /** Seconds left now, of what was told some time ago. */
  left(seconds) {
    return seconds === null ? null : Math.max(0, seconds - (Date.now() - this.at) / 1000);
  }

  async look() {
    if (!vscode.window.state.focused && this.told !== null) {
      this.show();
      return;
    }
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
    if (this.told === null) {
      this.item.hide();
      return;
    }
    const { words, told } = this;
    const ends = this.left(told.ends_in);
    const idle = this.left(told.idle_in);
    const byIdle = idle !== null && (ends === null || idle < ends);
    const left = byIdle ? idle : ends;
    const soon = left !== null && left < SOON;
    const text = left === null ? words.endless : (byIdle ? words.idle : words.left)(timeOf(left, words));
    this.item.text = `$(clock) ${text}`;
    const lines = [`${told.owner}/${told.name}`, told.doing[told.language], this.away ? words.away : ""];
    this.item.tooltip = lines.filter(Boolean).join("\n");
    this.item.backgroundColor = soon ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    this.item.show();
    if (soon) void this.warn(left, byIdle);
  }

  /** Once for each end that comes near. */
  async warn(left, byIdle) {
    const end = Math.round((Date.now() / 1000 + left) / 120);
    if ([`${byIdle} ${end}`, `${byIdle} ${end + 1}`].includes(this.warned)) return;
    this.warned = `${byIdle} ${end}`;
    const { words, told } = this;
    const actions = told.acts ? [told.ends_in === null ? words.used : words.extend] : [];
    const chosen = await vscode.window.showWarningMessage(words.soon(told.name, timeOf(left, words)), ...actions);
    if (chosen !== undefined) await this.act("extend");
  }

  async menu() {
    const { words, told } = this;
    if (told === null) return;
    const items = [];
    if (told.acts && (told.ends_in !== null || told.idle_in !== null)) {
      items.push({ label: `$(history) ${told.ends_in === null ? words.used : words.extend}`, run: () => this.act("extend") });
    }
    if (told.saves) items.push({ label: `$(save) ${words.save}`, run: () => this.save() });
    if (told.acts) items.push({ label: `$(debug-stop) ${words.stop}`, run: () => this.stop() });
    if (!told.acts) items.push({ label: words.only(told.owner), run: async () => undefined });
    const title = `${told.owner}/${told.name} · ${this.item.text.replace("$(clock) ", "")}`;
    const chosen = await vscode.window.showQuickPick(items, { title });
    await chosen?.run();
  }

  async save() {
    if (this.told?.saves) await vscode.env.openExternal(vscode.Uri.parse(`${this.told.page}?save`));
  }

  async stop() {
    const { words, told } = this;
    if (!told?.acts) return;
    const options = { modal: true, detail: words.stopBody };
    const chosen = await vscode.window.showWarningMessage(words.stopAsk(told.name), options, words.stop);
    if (chosen !== words.stop || !(await this.act("stop"))) return;
    this.item.text = words.stopping;
  }

  async act(what) {
    try {
      this.hear(await ask(what));
      this.show();
      return true;
    } catch (error) {
      void vscode.window.showErrorMessage(error.message);
      return false;
    }
  }
}

function activate(context) {
  const strip = new Strip();
  const timer = setInterval(() => void strip.look(), LOOK_EVERY);
  context.subscriptions.push(
    strip.item,
    { dispose: () => clearInterval(timer) },
    vscode.window.onDidChangeWindowState(() => void strip.look()),
    vscode.commands.registerCommand("danlu.menu", () => strip.menu()),
    vscode.commands.registerCommand("danlu.extend", () => strip.act("extend")),
    vscode.commands.registerCommand("danlu.save", () => strip.save()),
    vscode.commands.registerCommand("danlu.stop", () => strip.stop()),
  );
  return strip.look();
}

module.exports = { activate };
