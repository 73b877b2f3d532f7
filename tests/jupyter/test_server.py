"""The extension in the server: switched on and off, open to its user only, and never in the way of a kernel."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.e2e.programs import wait_until
from tests.jupyter.servers import Jupyter, Kernel, jupyter
from tests.jupyter.test_ends import run_of, wait_for_end


def holter_jupyter(*arguments: str, home: Path) -> str:
    command = [sys.executable, "-m", "holter", "jupyter", *arguments]
    environment = {**os.environ, "JUPYTER_CONFIG_DIR": str(home), "JUPYTER_DATA_DIR": str(home / "data")}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_install_writes_one_file_of_its_own_and_uninstall_removes_it(tmp_path: Path) -> None:
    other = tmp_path / "jupyter_server_config.d" / "other.json"
    other.parent.mkdir()
    other.write_text("{}")
    path = other.with_name("holter.json")
    # A kernelspec is shared with front ends that have no holter: nobody may write to it.
    spec = tmp_path / "data" / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text("{}")

    assert f"wrote {path}\n" in holter_jupyter("install", "--user", home=tmp_path)
    assert json.loads(path.read_text()) == {"ServerApp": {"jpserver_extensions": {"holter.jupyter": True}}}
    assert f"nothing to do, there is already {path}" in holter_jupyter("install", "--user", home=tmp_path)
    assert f"removed {path}\n" in holter_jupyter("uninstall", home=tmp_path)
    assert "nothing to do" in holter_jupyter("uninstall", home=tmp_path)
    assert [each.name for each in other.parent.iterdir()] == ["other.json"]
    files = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert sorted(files) == sorted([other, spec])
    assert spec.read_text() == "{}"


def test_a_place_that_cannot_be_written_is_said_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    command = [sys.executable, "-m", "holter", "jupyter", "install", "--user"]
    environment = {**os.environ, "JUPYTER_CONFIG_DIR": str(tmp_path / "file")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"holter: can't write {tmp_path}/file/jupyter_server_config.d/holter.json: ")


def test_only_who_is_logged_in_is_told_anything(served: Jupyter, kernel: Kernel) -> None:
    for what in ("memory", "death"):
        assert httpx.get(f"{served.address}/holter/kernels/{kernel.id}/{what}").status_code == 403


def test_a_kernel_that_is_not_there_has_no_figures(served: Jupyter) -> None:
    nobody = "00000000-0000-0000-0000-000000000000"
    for what in ("memory", "death"):
        assert served.http.get(f"/holter/kernels/{nobody}/{what}").status_code == 404


def test_the_figures_are_those_of_the_kernel_and_what_it_started(served: Jupyter, kernel: Kernel) -> None:
    kernel.run("x = bytearray(64 << 20)")
    alone = served.memory(kernel)
    kernel.run("import subprocess; child = subprocess.Popen(['sleep', '60'])")
    with_child = served.memory(kernel)
    kernel.run("child.kill()")

    assert 64 << 20 < alone["kernel_bytes"] < 512 << 20
    assert (alone["processes"], with_child["processes"]) == (1, 2)
    assert alone["memory"]["kernel_bytes"] == alone["kernel_bytes"]
    assert 0 < alone["memory"]["used_bytes"] < alone["memory"]["limit_bytes"]
    assert alone["level"] in ("ok", "near", "critical")


def test_the_sidecar_is_out_of_reach_for_what_the_server_does_to_the_kernels_group(kernel: Kernel) -> None:
    run, pid = run_of(kernel), kernel.pid
    wait_until(lambda: _sidecars_of(run))
    (sidecar,) = _sidecars_of(run)
    assert os.getsid(sidecar) not in (os.getsid(pid), os.getsid(kernel.jupyter.process.pid))
    assert os.getpgid(sidecar) != os.getpgid(pid)
    os.kill(pid, signal.SIGKILL)
    wait_for_end(pid)
    wait_until(lambda: not _sidecars_of(run), within_s=60)  # it leaves when it is done


@pytest.mark.parametrize(
    "environ",
    [{"HOLTER_DIR": "/proc/nowhere"}, {"HOLTER_MODE": "nonsense"}],
    ids=["no place", "a wrong setting"],
)
def test_a_kernel_that_cannot_be_recorded_runs_all_the_same(tmp_path: Path, environ: dict[str, str]) -> None:
    with jupyter(tmp_path / "home", HOLTER_STRICT="0", **environ) as served:
        kernel = served.start_kernel()
        pid = kernel.pid
        kernel.restart()
        assert kernel.pid != pid
        wait_until(lambda: "holter: " in served.log())
        assert "Traceback" not in served.log()


def test_a_server_from_which_holter_was_taken_away_starts_kernels_as_ever(tmp_path: Path) -> None:
    gone = tmp_path / "gone" / "holter" / "__init__.py"
    gone.parent.mkdir(parents=True)
    gone.write_text("raise ModuleNotFoundError('holter is not installed')")
    with jupyter(tmp_path / "home", PYTHONPATH=str(gone.parents[1])) as served:
        assert "holter is not installed" in served.log()
        assert served.start_kernel().run("print('hello')") == "hello\n"


def test_nothing_is_recorded_where_that_is_switched_off(tmp_path: Path) -> None:
    data = tmp_path / "home" / "holter"
    with jupyter(tmp_path / "home", HOLTER_MODE="disabled", HOLTER_DIR=str(data)) as served:
        kernel = served.start_kernel()
        assert kernel.run("import os; print('HOLTER_KERNEL' in os.environ)") == "False\n"
        assert served.memory(kernel)["processes"] == 1
    assert not data.exists()


def test_a_provisioner_that_somebody_chose_stays(tmp_path: Path) -> None:
    chosen = ["--KernelProvisionerFactory.default_provisioner_name=another-provisioner"]
    with jupyter(tmp_path / "home", arguments=chosen, HOLTER_DIR=str(tmp_path / "home" / "holter")) as served:
        assert "holter: notebooks' kernels are started by another-provisioner, which is left as it is" in served.log()


def _sidecars_of(run: str) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_text()
        except OSError:
            continue
        if "holter.sidecar" in command and f'"run":"{run}"' in command and not command.startswith("/bin/sh"):
            found.append(int(process.name))
    return found
