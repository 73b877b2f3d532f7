import { ask } from './server.js';

const EVERY_MS = 2000;
const SELDOM_MS = 30000;
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** `7.1 GiB`, `512 MiB`. */
export function size(/** @type {number} */ bytes) {
  let unit = 0;
  while (bytes >= 1024 && unit < UNITS.length - 1) {
    bytes /= 1024;
    unit += 1;
  }
  return `${unit === 0 || bytes >= 99.95 ? bytes.toFixed(0) : bytes.toFixed(1)} ${UNITS[unit]}`;
}

/** `61 %` */
function share(/** @type {import('../../types/lab').Usage} */ usage) {
  return `${Math.round((100 * usage.used_bytes) / usage.limit_bytes)} %`;
}

/** What stands in the bar: `Kernel 3.2 GiB · 61 % of 8.0 GiB in use · GPU 0 12 %`. */
export function summary(/** @type {import('../../types/lab').Figures} */ figures) {
  const { memory } = figures;
  const host = memory ? [`${share(memory)} of ${size(memory.limit_bytes)} in use`] : [];
  const gpus = figures.gpus.map(gpu => `${gpu.of} ${share(gpu)}`);
  return [`Kernel ${size(figures.kernel_bytes)}`, ...host, ...gpus].join(' · ');
}

/** The same in full, for who points at it. */
export function details(/** @type {import('../../types/lab').Figures} */ figures) {
  const { memory } = figures;
  const several = figures.processes > 1 ? ` in ${figures.processes} processes` : '';
  const lines = [`The notebook's kernel holds ${size(figures.kernel_bytes)}${several}.`];
  if (memory) {
    const whose = memory.of === 'container' ? 'Its memory limit' : "The machine's memory";
    lines.push(`${whose} is ${size(memory.limit_bytes)}, of which ${size(memory.used_bytes)} is in use.`);
  }
  for (const gpu of figures.gpus) {
    const own = gpu.kernel_bytes === null ? '' : `, ${size(gpu.kernel_bytes)} of it by the notebook's kernel`;
    lines.push(`${gpu.of}: ${size(gpu.used_bytes)} of ${size(gpu.limit_bytes)} taken${own}.`);
  }
  if (figures.level !== 'ok') {
    lines.push("When nothing is left, the notebook's kernel dies.");
  }
  return lines.join('\n');
}

/** The memory of one notebook's kernel, kept up to date while somebody can see it. */
export class MemoryItem {
  /**
   * @param {import('../../types/lab').Lab} lab
   * @param {() => import('../../types/lab').NotebookPanel | null} panel whose kernel it is about
   */
  constructor(lab, panel) {
    this.lab = lab;
    this.panel = panel;
    this.widget = new lab.widgets.Widget();
    this.widget.addClass('jp-holter-memory');
    this.widget.hide();
    /** @type {number | undefined} */
    this.timer = undefined;
    this.asked = 0;
    this.onVisible = () => this.look();
    document.addEventListener('visibilitychange', this.onVisible);
    this.widget.disposed.connect(() => {
      document.removeEventListener('visibilitychange', this.onVisible);
      window.clearTimeout(this.timer);
    });
    this.look();
  }

  /** Look now, and from then on every two seconds. */
  async look() {
    window.clearTimeout(this.timer);
    if (this.widget.isDisposed || document.hidden) {
      return;
    }
    const asked = (this.asked += 1);
    const kernel = this.panel()?.sessionContext.session?.kernel?.id;
    const figures = kernel ? await ask(this.lab, kernel, 'memory') : null;
    if (asked !== this.asked || this.widget.isDisposed) {
      return; // somebody has asked since
    }
    this.show(figures);
    this.timer = window.setTimeout(() => this.look(), figures || !kernel ? EVERY_MS : SELDOM_MS);
  }

  /** @param {import('../../types/lab').Figures | null} figures */
  show(figures) {
    if (!figures) {
      this.widget.hide();
      return;
    }
    this.widget.node.textContent = (figures.level === 'ok' ? '' : '⚠ ') + summary(figures);
    this.widget.node.title = details(figures);
    this.widget.node.dataset.level = figures.level;
    this.widget.show();
  }
}
