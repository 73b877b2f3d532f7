import { ask } from './server.js';

const ASKING = 'holter is finding out why …';

/**
 * Have the reason of a kernel's death in the dialog that says that it died.
 *
 * @param {import('../../types/lab').Lab} lab
 * @param {import('../../types/lab').NotebookTracker} tracker
 */
export function watchDeaths(lab, tracker) {
  const { Dialog } = lab.apputils;
  /** @type {import('../../types/lab').Dialog | null} The dialog that was made a moment ago. */
  let fresh = null;
  Dialog.tracker.widgetAdded.connect((_, dialog) => {
    fresh = dialog;
    queueMicrotask(() => (fresh = null));
  });

  const watch = (/** @type {import('../../types/lab').NotebookPanel} */ panel) => {
    /** @type {DeathDialog | null} */
    let shown = null;
    panel.sessionContext.statusChanged.connect((context, status) => {
      const kernel = context.session?.kernel?.id;
      if (!kernel || (status !== 'autorestarting' && status !== 'dead')) {
        return;
      }
      // The notebook was told before us: the dialog that was made since then is its own.
      if (!shown || shown.isClosed || fresh) {
        shown = new DeathDialog(lab, fresh);
      }
      void shown.explain(kernel);
    });
  };
  tracker.forEach(watch);
  tracker.widgetAdded.connect((_, panel) => watch(panel));
}

/** The notebook's own dialog, or one of ours where it has shown its own already. */
class DeathDialog {
  /**
   * @param {import('../../types/lab').Lab} lab
   * @param {import('../../types/lab').Dialog | null} dialog
   */
  constructor(lab, dialog) {
    this.lab = lab;
    this.dialog = dialog;
    this.asked = 0;
  }

  get isClosed() {
    return this.dialog !== null && this.dialog.isDisposed;
  }

  /** @param {string} kernel the id of the kernel that died */
  async explain(kernel) {
    const asked = (this.asked += 1);
    const waiting = element('p', 'jp-holter-asking', ASKING);
    this.body()?.append(waiting);
    const death = await ask(this.lab, kernel, 'death');
    waiting.remove();
    if (!death?.is_death || asked !== this.asked) {
      return;
    }
    const body = this.body();
    if (body) {
      body.replaceChildren(card(death));
      this.dialog?.node.querySelector('.jp-Dialog-content')?.classList.add('jp-holter-dialog');
    } else {
      this.open(death);
    }
  }

  /** Where the dialog shows its text; null where it is closed. */
  body() {
    return this.dialog && !this.dialog.isDisposed ? this.dialog.node.querySelector('.jp-Dialog-body') : null;
  }

  /** @param {import('../../types/lab').Death} death */
  open(death) {
    const { Dialog } = this.lab.apputils;
    const body = new this.lab.widgets.Widget({ node: card(death) });
    this.dialog = new Dialog({ title: 'The kernel died', body, buttons: [Dialog.okButton()] });
    this.dialog.node.querySelector('.jp-Dialog-content')?.classList.add('jp-holter-dialog');
    void this.dialog.launch().catch(() => {});
  }
}

/** @param {import('../../types/lab').Death} death */
function card(death) {
  const node = element('div', 'jp-holter-death');
  // Escaped by the server, and parsed where no script of it could run.
  const parsed = new DOMParser().parseFromString(death.html, 'text/html');
  node.append(...parsed.body.childNodes);
  return node;
}

/**
 * @param {string} tag
 * @param {string} className
 * @param {string} [text]
 */
function element(tag, className, text = '') {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}
