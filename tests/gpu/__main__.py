"""Runs every part, each in a process of its own with its own limit: `python3 tests/gpu/__main__.py [PART…]`.

Needs nothing but a Python with torch, and the wheels that `make gpu-wheels` laid into `.wheels`. What was seen goes to
$OUT (or `.gpu`) as it comes: `results.jsonl` has a line for each part, `runs.tar.gz` the runs that were recorded.
"""

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
OUT = Path(os.environ.get("OUT") or ROOT / ".gpu")
WITHIN_S = float(os.environ.get("GPU_WITHIN_S", "540"))
PACK_S = 8.0

PHASES: tuple[tuple[tuple[str, float], ...], ...] = (
    (("machine", 45),),
    (  # Side by side: they need little of the GPU, and measure no times.
        ("forecast", 105),
        ("waits_for_gpu", 110),
        ("fragmentation", 60),
        ("device_assert", 60),
        ("nan_layer", 60),
        ("graphs_and_streams", 75),
    ),
    (("out_of_memory", 45),),
    (("neighbour", 60),),
    (("watch_cost", 110),),
    (("jax_takes_all", 45),),
    (("scalars", 50),),
    (("contention", 50),),
    (("media", 40),),
    (("batch_size", 190),),
)
_began = time.monotonic()
_lock = threading.Lock()


def main(wanted: list[str]) -> int:
    """Returns 0 where all that was checked is so."""
    OUT.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="holter-gpu-"))
    environment = prepare(work)
    failed: list[str] = []
    for phase in PHASES:
        threads = [
            threading.Thread(target=_run_part, args=(name, limit_s), kwargs={"env": environment, "failed": failed})
            for name, limit_s in phase
            if not wanted or name in wanted
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    pack(work)
    print(f"{time.monotonic() - _began:.0f} s; not as it should be: {', '.join(failed) or 'nothing'}", flush=True)
    return bool(failed)


def prepare(work: Path) -> dict[str, str]:
    """The environment in which programs find holter and what it needs; unpacks only what this Python has not."""
    site = work / "site"
    site.mkdir()
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    for wheel in sorted((ROOT / ".wheels").glob("*.whl")):
        name, _, python, abi, *_ = wheel.stem.split("-")
        module = {"nvidia_ml_py": "pynvml", "typing_extensions": "typing_extensions"}.get(name, name)
        fits = abi in ("none", "abi3", tag) and (python == tag or python.startswith("py") or abi == "abi3")
        if fits and importlib.util.find_spec(module) is None:
            with zipfile.ZipFile(wheel) as file:
                file.extractall(site)
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), str(site), os.environ.get("PYTHONPATH", "")]).rstrip(":")
    (work / "tmp").mkdir()
    return {**os.environ, "PYTHONPATH": path, "TMPDIR": str(work / "tmp"), "PYTHONUNBUFFERED": "1", "HOLTER_SILENT": ""}


def _run_part(name: str, limit_s: float, *, env: dict[str, str], failed: list[str]) -> None:
    began = time.monotonic()
    left = WITHIN_S - PACK_S - (began - _began)
    if left < 8:
        _keep({"part": name, "trouble": "no time was left"}, failed)
        return
    command = [sys.executable, "-m", "tests.gpu.parts", name]
    part = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=ROOT, start_new_session=True
    )
    trouble = ""
    try:
        out, err = part.communicate(timeout=min(limit_s, left))
    except subprocess.TimeoutExpired:
        os.killpg(part.pid, signal.SIGKILL)
        out, err = part.communicate()
        trouble = f"stopped after {min(limit_s, left):.0f} s"
    with contextlib.suppress(ProcessLookupError):
        os.killpg(part.pid, signal.SIGKILL)  # what it left behind
    found: dict[str, Any] = {}
    try:
        found = json.loads(out.strip().splitlines()[-1])
    except (IndexError, ValueError):
        trouble = trouble or "it said nothing"
    if trouble:
        found = {"trouble": trouble, "stdout": out[-2000:], "stderr": err[-4000:]}
    _keep({"part": name, "took_s": round(time.monotonic() - began, 1), **found}, failed)


def _keep(found: dict[str, Any], failed: list[str]) -> None:
    wrong = [check for check, is_so in found.get("checks", {}).items() if not is_so]
    with _lock:
        if wrong or "trouble" in found:
            failed.append(f"{found['part']} ({', '.join(wrong) or found['trouble']})")
        with (OUT / "results.jsonl").open("a") as file:
            file.write(json.dumps(found) + "\n")
        print(
            f"{time.monotonic() - _began:4.0f} s {found['part']}: {wrong or found.get('trouble') or 'as it should be'}"
        )
        if "trouble" in found:
            print(found.get("stderr", "")[-1500:])
        sys.stdout.flush()


def pack(work: Path) -> None:
    """The recorded runs, without what is large, for tests on machines without a GPU."""
    with tarfile.open(OUT / "runs.tar.gz", "w:gz", compresslevel=6) as file:
        for path in sorted((work / "tmp").rglob("*")):
            if path.is_file() and path.stat().st_size < 4 << 20:
                file.add(path, path.relative_to(work))
    shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
