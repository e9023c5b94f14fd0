// The strip in VS Code's status bar. It runs in the browser, where the cookie of this door is, and not with the other extensions
// in the task: nothing in the task needs to be trusted with it.
const vscode = require("vscode");

class CodeStrip extends Strip {
  constructor() {
    super();
    this.item = vscode.window.createStatusBarItem("danlu.strip", vscode.StatusBarAlignment.Right, 10_000);
    this.item.name = "Danlu 丹炉";
    this.item.command = "danlu.menu";
  }

  isSeen() {
    return vscode.window.state.focused || this.told === null;
  }

  draw(view) {
    if (view === null) {
      this.item.hide();
      return;
    }
    this.item.text = `$(clock) ${view.text}`;
    this.item.tooltip = view.lines.join("\n");
    this.item.backgroundColor = view.soon ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    this.item.show();
  }

  async warn(text, label) {
    const chosen = await vscode.window.showWarningMessage(text, ...(label === null ? [] : [label]));
    if (chosen !== undefined) await this.act("extend");
  }

  complain(text) {
    void vscode.window.showErrorMessage(text);
  }

  async menu() {
    const { words, told } = this;
    if (told === null) return;
    const view = this.view();
    const items = [];
    if (view.extends) items.push({ label: `$(history) ${view.extendText}`, run: () => this.act("extend") });
    if (told.saves) items.push({ label: `$(save) ${words.save}`, run: () => this.save() });
    if (told.acts) items.push({ label: `$(debug-stop) ${words.stop}`, run: () => this.stop() });
    if (!told.acts) items.push({ label: words.only(told.owner), run: async () => undefined });
    const chosen = await vscode.window.showQuickPick(items, { title: `${told.owner}/${told.name} · ${view.text}` });
    await chosen?.run();
  }

  async save() {
    if (this.told?.saves) await vscode.env.openExternal(vscode.Uri.parse(this.savePage));
  }

  async stop() {
    const { words, told } = this;
    if (!told?.acts) return;
    const options = { modal: true, detail: words.stopBody };
    const chosen = await vscode.window.showWarningMessage(words.stopAsk(told.name), options, words.stop);
    if (chosen === words.stop) await this.act("stop");
  }
}

function activate(context) {
  const strip = new CodeStrip();
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
