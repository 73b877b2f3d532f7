"""What a test's programs find in their environment: nothing of the user's runs, and a directory of their own."""

import os
from pathlib import Path

import pytest

# What else a training process reads to learn which run it belongs to.
FOREIGN_PREFIXES = ("HOLTER_", "WANDB_", "SLURM_", "TORCHELASTIC_")


def isolate(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    for name in os.environ:
        if name.startswith(FOREIGN_PREFIXES):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOLTER_DIR", str(place / "holter"))
    monkeypatch.setenv("HOLTER_STRICT", "1")
