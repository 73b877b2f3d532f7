"""Which directory and which run the user means."""

import os
from collections.abc import Mapping

from holter.catalog.catalog import Catalog
from holter.catalog.read.loaded_run import LoadedRun
from holter.model.state import read_lateness
from holter.recording.settings import read_settings

# Another setting that is wrong must not keep anybody from looking at runs.
_WHERE = ("HOLTER_DIR", "XDG_DATA_HOME")


def open_catalog(environ: Mapping[str, str] = os.environ) -> Catalog:
    """The runs of the directory in which a program started here would record. Raises UsageError."""
    settings = read_settings({}, {name: environ[name] for name in _WHERE if name in environ})
    return Catalog(settings.dir, read_lateness(environ))


def load_chosen(wanted: str | None) -> LoadedRun:
    """All about the run that the user named, or the newest. Raises NoRun, JournalError, OSError."""
    catalog = open_catalog()
    return catalog.load(catalog.find(wanted))


def load_explained(wanted: str | None) -> LoadedRun:
    """The same, once those have been asked again who may know more about its end by now."""
    from holter.catalog.judge.inquiry import inquire

    return inquire(load_chosen(wanted))
