// The container by which JupyterLab and Notebook 7 load this extension. Its form is that of webpack's module
// federation, which is two functions: written by hand, the modules beside it need no build.
(() => {
  const NAME = 'jupyterlab-holter';
  const here = /** @type {HTMLScriptElement} */ (document.currentScript).src;
  /** @type {Record<string, Record<string, {loaded?: unknown, get: () => Promise<() => unknown>}>>} */
  let shared = {};

  /** What the application itself uses under this name; undefined where it has no such thing. */
  async function use(/** @type {string} */ name) {
    const versions = Object.values(shared[name] ?? {});
    const chosen = versions.find(version => version.loaded) ?? versions.at(-1);
    return chosen && (await chosen.get())();
  }

  const container = {
    init(/** @type {typeof shared} */ scope) {
      shared = scope;
    },
    async get(/** @type {string} */ module) {
      if (module !== './extension') {
        throw new Error(`${NAME} has no ${module}`);
      }
      const { makePlugin } = await import(new URL('plugin.js', here).href);
      const names = ['apputils', 'coreutils', 'notebook', 'services', 'statusbar'];
      const found = await Promise.all([...names.map(name => use(`@jupyterlab/${name}`)), use('@lumino/widgets')]);
      const [apputils, coreutils, notebook, services, statusbar, widgets] = found;
      const plugin = makePlugin({ apputils, coreutils, notebook, services, statusbar, widgets });
      return () => ({ __esModule: true, default: plugin });
    }
  };
  const containers = /** @type {any} */ (window);
  containers._JUPYTERLAB ??= {};
  containers._JUPYTERLAB[NAME] = container;
})();
