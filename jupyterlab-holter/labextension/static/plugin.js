import { watchDeaths } from './deaths.js';
import { MemoryItem } from './memory.js';

const ID = 'jupyterlab-holter:plugin';

/**
 * The plugin: the memory of the notebook's kernel in the status bar, and why a kernel died in the dialog that says so.
 *
 * @param {import('../../types/lab').Lab} lab
 */
export function makePlugin(lab) {
  const statusBarToken = lab.statusbar?.IStatusBar;
  return {
    id: ID,
    description: "Shows how near a notebook's kernel is to its memory limit, and why one died.",
    autoStart: true,
    requires: [lab.notebook.INotebookTracker],
    optional: statusBarToken ? [statusBarToken] : [],
    /**
     * @param {import('../../types/lab').App} app
     * @param {import('../../types/lab').NotebookTracker} tracker
     * @param {import('../../types/lab').StatusBar | null} [statusBar]
     */
    activate(app, tracker, statusBar) {
      addStyle();
      watchDeaths(lab, app, tracker);
      if (statusBar) {
        const item = new MemoryItem(lab, () => tracker.currentWidget);
        tracker.currentChanged.connect(() => item.look());
        statusBar.registerStatusItem(ID, { item: item.widget, align: 'right', rank: 20 });
        return;
      }
      // Notebook 7 has no status bar: there each notebook has it in its own toolbar.
      const add = (/** @type {import('../../types/lab').NotebookPanel} */ panel) => {
        const item = new MemoryItem(lab, () => panel);
        panel.toolbar.addItem('holter-memory', item.widget);
      };
      tracker.forEach(add);
      tracker.widgetAdded.connect((_, panel) => add(panel));
    }
  };
}

function addStyle() {
  const link = document.createElement('link');
  link.rel = 'stylesheet';
  link.href = new URL('style.css', import.meta.url).href;
  document.head.append(link);
}
