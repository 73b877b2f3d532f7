"""The extension in a real JupyterLab and a real Notebook 7, in a real Chromium."""

import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browser.chromium import chromium
from tests.e2e.programs import wait_until
from tests.jupyter.servers import TOKEN, Jupyter, dying_at_start, jupyter
from tests.zoo.cgroups import make_cgroup

EXTENSION = Path(__file__).parents[2] / "jupyterlab-holter"
LOADS_WITHIN_MS = 90_000
SHOWN_WITHIN_MS = 60_000
expect.set_options(timeout=SHOWN_WITHIN_MS)  # a page's default timeout is for what is done, not for what is expected
SLOW_SERVER = """
const real = window.fetch;
window.fetch = async (...asked) => {
  const url = String(asked[0].url ?? asked[0]);
  const isSlow = window.isServerSlow && /[/]api[/](sessions|kernels)([/][^/]+)?[?]/.test(url);
  if (isSlow) await new Promise(done => setTimeout(done, 4000));
  return real(...asked);
};
"""
# A notebook that nobody saved is not asked about, and none is there when the next test begins.
CLEAR_AWAY = """
() => {
  window.isServerSlow = false;
  for (const widget of [...window.jupyterapp.shell.widgets("main")]) widget.dispose();
  for (const button of document.querySelectorAll(".jp-Dialog .jp-mod-accept")) button.click();
}
"""
NOTEBOOK = {
    "cells": [{"cell_type": "code", "id": "one", "metadata": {}, "outputs": [], "source": "", "execution_count": None}],
    "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


class Watched:
    """A page, and what its console has said against holter."""

    def __init__(self, context: BrowserContext) -> None:
        self.page = context.new_page()
        self.page.add_init_script(SLOW_SERVER)
        self._said = list[str]()
        self.page.on("console", lambda message: self._said.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self._said.append(str(error)))

    def complaints(self) -> list[str]:
        return [text for text in self._said if "holter" in text]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as launched:
        yield launched


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where Jupyter finds the extension, as `pip install` of its wheel leaves it."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=EXTENSION, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    (data,) = folder.glob("*.data")
    return data / "data" / "share" / "jupyter"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, share: Path) -> Iterator[Jupyter]:
    home = tmp_path_factory.mktemp("lab")
    environ = {"HOLTER_DIR": str(home / "holter"), "HOLTER_STRICT": "1", "JUPYTER_PATH": str(share)}
    with jupyter(home, app="lab", arguments=["--LabApp.expose_app_in_browser=True"], **environ) as lab:
        yield lab


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """One for both front ends: what it has of JupyterLab's megabytes is not loaded again."""
    made = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    made.set_default_timeout(SHOWN_WITHIN_MS)
    yield made
    made.close()


@pytest.fixture(scope="module")
def lab(context: BrowserContext, served: Jupyter) -> Iterator[Watched]:
    """JupyterLab takes ten seconds of a processor to load: all tests open their notebooks in one."""
    watched = Watched(context)
    watched.page.goto(f"{served.address}/lab/workspaces/tests?token={TOKEN}", timeout=LOADS_WITHIN_MS)
    watched.page.wait_for_function("window.jupyterapp?.commands.hasCommand('docmanager:open')", timeout=LOADS_WITHIN_MS)
    yield watched
    watched.page.close()


@pytest.fixture
def page(lab: Watched, served: Jupyter) -> Iterator[Page]:
    """JupyterLab without a notebook."""
    yield lab.page
    lab.page.unroute_all()
    lab.page.evaluate(CLEAR_AWAY)  # what dies from now on is no news: the next test finds no dialog
    for session in served.http.get("/api/sessions").json():
        served.http.delete(f"/api/sessions/{session['id']}")
    assert lab.complaints() == []


class Notebook:
    """A notebook in a page, with a kernel of its own."""

    def __init__(self, served: Jupyter, page: Page, name: str, *, url: str = "") -> None:
        self.served = served
        self.page = page
        self.path = f"{name}.ipynb"
        (served.home / "work" / self.path).write_text(json.dumps(NOTEBOOK))
        if url:
            page.goto(f"{served.address}/{url}/{self.path}?token={TOKEN}", timeout=LOADS_WITHIN_MS)
        else:
            page.evaluate("path => window.jupyterapp.commands.execute('docmanager:open', { path })", self.path)
        expect(page.locator(".jp-Notebook")).to_be_visible(timeout=LOADS_WITHIN_MS)
        wait_until(self.find_kernel, within_s=60)
        self.kernel = self.find_kernel()

    @property
    def memory(self) -> Locator:
        return self.page.locator(".jp-holter-memory").first

    @property
    def card(self) -> Locator:
        return self.page.locator(".jp-Dialog .jp-holter-death")

    @property
    def pid(self) -> int:
        """Of the process that the kernel is now."""
        wait_until(lambda: _pid_of(self.kernel), within_s=60)
        return _pid_of(self.kernel)

    def wait_until_idle(self) -> None:
        wait_until(lambda: self.served.get(f"/api/kernels/{self.kernel}")["execution_state"] == "idle", within_s=60)

    def dismiss(self) -> None:
        self.page.locator(".jp-Dialog .jp-mod-accept").click()
        expect(self.page.locator(".jp-Dialog")).to_have_count(0)

    def find_kernel(self) -> str:
        sessions = self.served.http.get("/api/sessions").json()
        return next((str(each["kernel"]["id"]) for each in sessions if each["path"] == self.path), "")


def _pid_of(kernel: str) -> int:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"kernel-{kernel}.json" in (process / "cmdline").read_text() and _is_alive(process):
                return int(process.name)
        except OSError:
            continue
    return 0


def _is_alive(process: Path) -> bool:
    return "sidecar" not in (process / "cmdline").read_text() and "State:\tZ" not in (process / "status").read_text()


def test_the_status_bar_has_the_kernels_memory_and_the_dialog_says_why_it_died(served: Jupyter, page: Page) -> None:
    notebook = Notebook(served, page, "killed")
    expect(notebook.memory).to_have_text(re.compile(r"^Kernel \d[\d.]* MiB · \d+ % of [\d.]+ GiB in use"))
    expect(notebook.memory).to_have_attribute("data-level", "ok")
    notebook.wait_until_idle()

    os.kill(notebook.pid, signal.SIGKILL)
    expect(notebook.card).to_contain_text("Somebody killed process")
    expect(notebook.card).to_contain_text("What to do")
    expect(page.locator(".jp-Dialog")).to_have_count(1)

    # It died again before the notebook was well: JupyterLab has no word for that, so the dialog is ours.
    notebook.dismiss()
    os.kill(notebook.pid, signal.SIGKILL)
    expect(notebook.card).to_contain_text("Somebody killed process")


def test_the_gpus_that_the_kernel_uses_stand_beside_it(served: Jupyter, page: Page) -> None:
    gpu = {"used_bytes": 60 << 30, "limit_bytes": 80 << 30, "of": "GPU 1", "kernel_bytes": 12 << 30}
    memory = {"used_bytes": 7 << 30, "limit_bytes": 8 << 30, "of": "container", "kernel_bytes": 3 << 30}
    figures = {"kernel_bytes": 3 << 30, "processes": 2, "memory": memory, "gpus": [gpu], "level": "near"}
    # There is no GPU here: the server answers as it would on a machine with two of them.
    page.route("**/holter/kernels/*/memory*", lambda route: route.fulfill(json=figures))
    notebook = Notebook(served, page, "gpu")
    expect(notebook.memory).to_have_text("⚠ Kernel 3.0 GiB · 88 % of 8.0 GiB in use · GPU 1 75 %")
    expect(notebook.memory).to_have_attribute("data-level", "near")
    expect(notebook.memory).to_have_attribute(
        "title", re.compile("GPU 1: 60.0 GiB of 80.0 GiB taken, 12.0 GiB of it by")
    )


def test_a_kernel_near_its_limit_is_red_and_dies_with_the_right_card(served: Jupyter, page: Page) -> None:
    notebook = Notebook(served, page, "full")
    notebook.wait_until_idle()
    expect(notebook.memory).to_have_attribute("data-level", "ok")
    try:
        small = make_cgroup("memory")
    except OSError as error:
        pytest.skip(f"not on this platform: no cgroup can be made: {error}")
    try:
        small.limit_memory(160 << 20)
        small.procs.write_text(str(notebook.pid))
        page.locator(".jp-Cell .cm-content").first.click()
        page.keyboard.type("x = bytearray(150 << 20)")
        page.keyboard.press("Shift+Enter")
        expect(notebook.memory).to_have_attribute("data-level", "critical")
        expect(notebook.memory).to_contain_text("of 160 MiB")

        page.keyboard.type("y = bytearray(150 << 20)")
        page.keyboard.press("Shift+Enter")
        expect(notebook.card).to_contain_text("cgroup-out-of-memory")
    finally:
        small.remove()


def assert_that_it_is_given_up(notebook: Notebook, die: Path) -> None:
    """Kernels that die at once, until Jupyter starts no other; then what the dialog tells people to do works."""
    page = notebook.page
    notebook.wait_until_idle()
    die.touch()
    page.evaluate("window.isServerSlow = true")  # it must work as soon as they read it
    os.kill(notebook.pid, signal.SIGKILL)
    title = page.locator(".jp-Dialog-header")
    expect(title).to_have_text(
        "The notebook's kernel died again, and is not restarted any more", timeout=LOADS_WITHIN_MS
    )
    expect(notebook.card).to_contain_text("Somebody killed process")
    expect(notebook.card).to_contain_text(re.compile(r"before it [56] other kernels of this notebook died"))
    expect(notebook.card).to_contain_text("Jupyter has given up on it. Kernel → Restart Kernel… starts a new one.")
    expect(page.locator(".jp-Dialog")).to_have_count(1)

    die.unlink()
    notebook.dismiss()
    page.locator(".lm-MenuBar-itemLabel", has_text="Kernel").click()
    page.locator(".lm-Menu-itemLabel", has_text=re.compile("^Restart Kernel…$")).click()
    wait_until(lambda: notebook.find_kernel() not in ("", notebook.kernel), within_s=60)


def test_a_kernel_that_jupyter_has_given_up_on_says_so_with_the_card_of_its_last_death(
    served: Jupyter, page: Page, tmp_path: Path
) -> None:
    with dying_at_start(served, tmp_path / "die") as die:
        assert_that_it_is_given_up(Notebook(served, page, "loop"), die)


def test_the_page_of_the_run_is_shown_in_a_frame(served: Jupyter, page: Page) -> None:
    notebook = Notebook(served, page, "framed")
    notebook.wait_until_idle()
    page.locator(".jp-Cell .cm-content").first.click()
    page.keyboard.type("import holter; run = holter.init(project='framed', name='seen-in-a-frame')")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("run.log({'loss': 1.0})")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("%holter")
    page.keyboard.press("Shift+Enter")
    inside = page.frame_locator("iframe[id^='holter-']")
    expect(inside.locator("body")).to_contain_text("seen-in-a-frame", timeout=LOADS_WITHIN_MS)


def test_a_restart_that_somebody_asked_for_says_nothing(served: Jupyter, page: Page) -> None:
    notebook = Notebook(served, page, "restarted")
    notebook.wait_until_idle()
    before = notebook.pid
    served.post(f"/api/kernels/{notebook.kernel}/restart")
    wait_until(lambda: _pid_of(notebook.kernel) not in (0, before), within_s=60)
    expect(notebook.memory).to_be_visible()
    page.wait_for_timeout(2000)
    expect(page.locator(".jp-Dialog")).to_have_count(0)


def test_notebook_7_has_all_of_it_too(served: Jupyter, context: BrowserContext, tmp_path: Path) -> None:
    seven = Watched(context)
    with dying_at_start(served, tmp_path / "die") as die:
        notebook = Notebook(served, seven.page, "seven", url="notebooks")
        expect(notebook.memory).to_have_text(re.compile(r"^Kernel \d[\d.]* MiB · \d+ % of [\d.]+ GiB in use"))
        notebook.wait_until_idle()

        os.kill(notebook.pid, signal.SIGKILL)
        expect(notebook.card).to_contain_text("Somebody killed process")
        notebook.dismiss()
        assert_that_it_is_given_up(notebook, die)
    seven.page.close()
    assert seven.complaints() == []
