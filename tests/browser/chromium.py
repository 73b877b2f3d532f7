"""Chromium as tests use it."""

import contextlib
import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

# The page behind its address bar, which nobody sees here, takes as long to load in each new window as what is tested.
# Chromium heeds the last such list only, so those of Playwright's own that could disturb tests are in it too.
FEATURES_OFF = """
AimEnabled DestroyProfileOnBrowserClose HttpsFirstBalancedModeAutoEnable HttpsUpgrades LensOverlay MediaRouter
NetworkTimeServiceQuerying OptimizationHints PaintHolding PreconnectToSearch ThirdPartyStoragePartitioning
WebUIOmniboxAimPopup WebUIOmniboxFullPopup WebUIOmniboxPopup
""".split()
# Without a sandbox of its own: tests run as root in containers. What the rest leaves out needs a network.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window; skips the test where there is none."""
    # The same engine without the browser around it, which costs a fifth of the time.
    found = os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if found is None:
        pytest.skip("no chromium on this machine")
    arguments = [*ARGUMENTS, f"--disable-features={','.join(FEATURES_OFF)}"]
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=arguments)
        yield launched
        launched.close()
