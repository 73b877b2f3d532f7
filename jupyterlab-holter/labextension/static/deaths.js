import { ask } from './server.js';

const ASKING = 'holter is finding out why …';
const DIED = "The notebook's kernel died";
const GIVEN_UP = "The notebook's kernel died again, and is not restarted any more";
const TRY_AGAIN = 'Jupyter has given up on it. Kernel → Restart Kernel… starts a new one.';
const LOOK_EVERY_MS = 2000;
const MOST_LOOKS = 60;

/**
 * Have the reason of a kernel's death in the dialog that says that it died.
 *
 * @param {import('../../types/lab').Lab} lab
 * @param {import('../../types/lab').App} app
 * @param {import('../../types/lab').NotebookTracker} tracker
 */
export function watchDeaths(lab, app, tracker) {
  const { Dialog } = lab.apputils;
  /** @type {import('../../types/lab').Dialog | null} The dialog that was made a moment ago. */
  let fresh = null;
  Dialog.tracker.widgetAdded.connect((_, dialog) => {
    fresh = dialog;
    queueMicrotask(() => (fresh = null));
  });

  const watch = (/** @type {import('../../types/lab').NotebookPanel} */ panel) => {
    const dialog = new DeathDialog(lab, app);
    panel.disposed.connect(() => dialog.forget());
    panel.sessionContext.statusChanged.connect((context, status) => {
      const kernel = context.session?.kernel;
      if (kernel && (status === 'autorestarting' || status === 'dead')) {
        dialog.take(fresh); // the notebook was told before us: the dialog that was made since then is its own
        void dialog.explain(kernel);
      }
    });
  };
  tracker.forEach(watch);
  tracker.widgetAdded.connect((_, panel) => watch(panel));
}

/** The one dialog of a notebook about its kernel's death: the notebook's own, or ours where it has shown that already. */
class DeathDialog {
  /**
   * @param {import('../../types/lab').Lab} lab
   * @param {import('../../types/lab').App} app
   */
  constructor(lab, app) {
    this.lab = lab;
    this.app = app;
    /** @type {import('../../types/lab').Dialog | null} */
    this.dialog = null;
    this.asked = 0;
  }

  /** @param {import('../../types/lab').Dialog | null} dialog what the notebook is about to show, if anything */
  take(dialog) {
    if (dialog && this.body()) {
      dialog.resolve(); // one is enough, and a second would wait behind the first
    } else {
      this.dialog = dialog ?? this.dialog;
    }
  }

  /** The notebook is closed: what becomes of its kernel now is no news to anybody. */
  forget() {
    this.asked += 1;
  }

  /** @param {import('../../types/lab').Kernel} kernel the one that died */
  async explain(kernel) {
    const asked = (this.asked += 1);
    const waiting = element('p', 'jp-holter-asking', ASKING);
    this.body()?.append(waiting);
    let death = await ask(this.lab, kernel.id, 'death');
    waiting.remove();
    if (!death?.is_death || asked !== this.asked) {
      return;
    }
    await this.tell(death, asked);
    // Jupyter gives up after some deaths in a row, and seldom says so: the notebook's channels are closed by then.
    for (let looks = 0; looks < MOST_LOOKS && !death.is_given_up && !isWell(kernel); looks += 1) {
      await new Promise(resolve => setTimeout(resolve, LOOK_EVERY_MS));
      const last = death;
      death = (await ask(this.lab, kernel.id, 'death')) ?? last;
      if (asked !== this.asked) {
        return;
      }
      if (death.is_given_up || (death.in_a_row !== last.in_a_row && this.body())) {
        await this.tell(death, asked);
      }
    }
  }

  /**
   * @param {import('../../types/lab').Death} death
   * @param {number} asked which question it answers
   */
  async tell(death, asked) {
    if (death.is_given_up) {
      // Until JupyterLab has heard that the kernel is gone, the menu that we send people to restarts one that is not there.
      await this.app.serviceManager.sessions.refreshRunning().catch(() => {});
    }
    if (asked === this.asked) {
      this.show(death);
    }
  }

  /** @param {import('../../types/lab').Death} death */
  show(death) {
    const body = this.body();
    if (!body) {
      this.open(death);
      return;
    }
    body.replaceChildren(card(death));
    this.dialog?.node.querySelector('.jp-Dialog-content')?.classList.add('jp-holter-dialog');
    const header = this.dialog?.node.querySelector('.jp-Dialog-header');
    if (header && death.is_given_up) {
      header.textContent = GIVEN_UP; // the notebook's own says that it is being restarted
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
    this.dialog = new Dialog({ title: death.is_given_up ? GIVEN_UP : DIED, body, buttons: [Dialog.okButton()] });
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
  if (death.is_given_up) {
    node.append(element('p', 'jp-holter-try-again', TRY_AGAIN));
  }
  return node;
}

/** @param {import('../../types/lab').Kernel} kernel */
function isWell(kernel) {
  return kernel.status === 'idle' || kernel.status === 'busy';
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
