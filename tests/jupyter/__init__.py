"""A real Jupyter server, a real JupyterLab in a real Chromium, real kernels, really killed."""
