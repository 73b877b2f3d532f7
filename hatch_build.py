"""Compiles the signal witness and builds the web page into the wheel.

A build without a compiler, or without Node and npm, works and loses only that.
"""

import ctypes
import importlib.util
import os
import platform
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = "src/holter/native/signal_witness.c"
LIBRARY = "holter/native/signal_witness.so"
FLAGS = "-O2 -std=c11 -fPIC -shared -fvisibility=hidden".split()
WITHIN_S = 60


class HolterHook(BuildHookInterface):  # type: ignore[type-arg]  # hatchling asks for a parameter that it has a default for
    """Called by hatchling for each wheel; an editable one finds library and page beside their sources."""

    def dependencies(self) -> list[str]:
        """Node as a wheel, where it is needed and not here."""
        found: list[str] = self._page_builder().needed_packages(Path(self.root))
        return found

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and name the platform in the wheel's tag where that worked."""
        self._build_page()
        if self.target_name != "wheel":
            return
        if version == "editable":
            self._compile(Path(self.root, "src", LIBRARY))
            return
        self._folder = tempfile.TemporaryDirectory()
        library = Path(self._folder.name, "signal_witness.so")
        if self._compile(library):
            build_data["force_include"][str(library)] = LIBRARY
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"

    def _build_page(self) -> None:
        builder = self._page_builder()
        try:
            builder.build_page(Path(self.root))
        except (builder.PageFailed, OSError) as error:
            self.app.display_warning(f"the web page is left out, holter works without: {error}")

    def _page_builder(self) -> ModuleType:
        # Hatchling runs this file from its text, so what lies beside it cannot be imported by name.
        spec = importlib.util.spec_from_file_location("build_page", Path(self.root, "build_page.py"))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def _compile(self, library: Path) -> bool:
        if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"):
            return False
        # Beside its place first: a program that has the one before in use keeps it.
        made = library.with_suffix(f".{os.getpid()}.so")
        try:
            command = [
                *shlex.split(os.environ.get("CC") or "cc"),
                *FLAGS,
                "-o",
                str(made),
                str(Path(self.root, SOURCE)),
            ]
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=WITHIN_S)
            ctypes.CDLL(str(made)).holter_witness_sign  # noqa: B018  it can be loaded, and is no empty one
            made.replace(library)
        except (OSError, AttributeError, subprocess.SubprocessError) as error:
            for path in (made, library):  # one of another time may be for another source
                path.unlink(missing_ok=True)
            said = getattr(error, "stderr", None) or ""
            self.app.display_warning(f"the signal witness is left out, holter works without: {error} {said}")
            return False
        return True
