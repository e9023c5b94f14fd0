// The strip in JupyterLab's top bar. Written as webpack would write it, so that nothing has to be built: JupyterLab loads this
// file, hands it the modules that it shares, and asks it for its plugin.
const NAME = "danlu-strip";

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
`;

let modules = {};

/** A module that JupyterLab has loaded itself. */
async function shared(name) {
  const [found] = Object.values(modules[name]);
  return (await found.get())();
}

class LabStrip extends Strip {
  constructor(node, dialogs) {
    super();
    this.node = node;
    this.dialogs = dialogs;
    this.busy = false;
    node.hidden = true;
    node.setAttribute("role", "group");
    node.setAttribute("aria-label", "Danlu 丹炉");
    this.time = node.appendChild(Object.assign(document.createElement("span"), { className: "time" }));
    this.time.setAttribute("role", "status");
    this.buttons = {
      extend: this.button("extend", () => this.act("extend")),
      save: this.button("save", () => window.open(this.savePage, "_blank", "noopener,noreferrer")),
      stop: this.button("stop", () => this.stop()),
    };
  }

  button(name, run) {
    const made = this.node.appendChild(Object.assign(document.createElement("button"), { type: "button", className: name }));
    made.addEventListener("click", () => void run());
    return made;
  }

  isSeen() {
    return !document.hidden;
  }

  draw(view) {
    this.node.hidden = view === null;
    if (view === null) return;
    const { words, told, buttons } = this;
    this.time.textContent = view.text;
    this.time.title = view.lines.join(" · ");
    this.node.classList.toggle("soon", view.soon);
    this.node.classList.toggle("away", this.away);
    Object.assign(buttons.extend, { textContent: view.extendShort, title: view.extendText, hidden: !view.extends });
    Object.assign(buttons.save, { textContent: words.saveShort, title: words.save, hidden: !told.saves });
    Object.assign(buttons.stop, { textContent: words.stop, title: words.stopAsk(told.name), hidden: !told.acts });
    for (const button of Object.values(buttons)) button.disabled = this.busy || this.stopping;
  }

  warn(text, label) {
    const actions = label === null ? [] : [{ label, callback: () => void this.act("extend") }];
    this.dialogs.Notification.warning(text, { autoClose: false, actions });
  }

  complain(text) {
    this.dialogs.Notification.error(text, { autoClose: 10_000 });
  }

  async act(what) {
    this.busy = true;
    this.show();
    try {
      return await super.act(what);
    } finally {
      this.busy = false;
      this.show();
    }
  }

  async stop() {
    const { Dialog, showDialog } = this.dialogs;
    const { words } = this;
    const buttons = [Dialog.cancelButton({ label: words.cancel }), Dialog.warnButton({ label: words.stop })];
    const answer = await showDialog({ title: words.stopAsk(this.told.name), body: words.stopBody, buttons });
    if (answer.button.accept) await this.act("stop");
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
    const strip = new LabStrip(widget.node, dialogs);
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
