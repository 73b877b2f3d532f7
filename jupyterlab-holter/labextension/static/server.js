/**
 * What the Jupyter server's extension says about a kernel; null where it has nothing to say, or is not there.
 *
 * @param {import('../../types/lab').Lab} lab
 * @param {string} kernel its id
 * @param {'memory' | 'death'} what
 */
export async function ask(lab, kernel, what) {
  const settings = lab.services.ServerConnection.makeSettings();
  const url = lab.coreutils.URLExt.join(settings.baseUrl, 'holter/kernels', encodeURIComponent(kernel), what);
  try {
    const answer = await lab.services.ServerConnection.makeRequest(url, {}, settings);
    return answer.ok ? await answer.json() : null;
  } catch {
    return null; // the server is not there for now: JupyterLab says so itself
  }
}
