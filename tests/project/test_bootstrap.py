"""tools/bootstrap and tools/make_venv.py in a copy of the checkout; nothing is installed from anywhere."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def copy_checkout(folder: pathlib.Path) -> pathlib.Path:
    """Return a folder, with a space in its path, that has what the bootstrap reads."""
    checkout = folder / "some folder" / "mf sim"
    shutil.copytree(ROOT / "tools", checkout / "tools")
    (checkout / "mfsim").mkdir()
    for name in ("constraints.txt", "pyproject.toml", "mfsim/__init__.py"):
        shutil.copy(ROOT / name, checkout / name)
    return checkout


def load(checkout: pathlib.Path):
    """Return the make_venv module of `checkout`, whose `install` makes one script and one package."""
    spec = importlib.util.spec_from_file_location("make_venv", checkout / "tools" / "make_venv.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def install(venv, extras):
        script = venv / "bin" / "where"
        script.write_text(
            f"#!/bin/sh\n'''exec' \"{venv}/bin/python\" \"$0\" \"$@\"\n' '''\nimport sys; print(sys.prefix)\n"
        )
        script.chmod(0o755)
        (site,) = venv.glob("lib/python*/site-packages")
        for name in ("numpy", *extras):
            (site / f"{name}-1.0.dist-info").mkdir(exist_ok=True)

    module.install = install
    return module


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Return a checkout whose `.venv` was made by `renew`, and its module."""
    folder = copy_checkout(tmp_path_factory.mktemp("bootstrap"))
    module = load(folder)
    module.renew(["test"])
    return folder, module


def bootstrap(checkout: pathlib.Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """Run tools/bootstrap with nothing of the caller's Python settings."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PIP_"))}
    return subprocess.run(
        ["/bin/sh", str(checkout / "tools" / "bootstrap"), *arguments],
        env=clean | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def path_of(folder: pathlib.Path, **programs: str) -> str:
    """Return a PATH on which there are only `dirname` and the given shell scripts."""
    folder.mkdir()
    (folder / "dirname").symlink_to(shutil.which("dirname"))
    for name, script in programs.items():
        program = folder / name.replace("_", ".")
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    return str(folder)


def test_scripts_work_after_the_rename(checkout):
    folder, _ = checkout
    where = subprocess.run([folder / ".venv" / "bin" / "where"], capture_output=True, text=True, check=True).stdout
    assert where.strip() == str(folder / ".venv")
    assert not list(folder.glob(".venv.new-*"))
    assert ".new-" not in (folder / ".venv" / "pyvenv.cfg").read_text()
    assert ".new-" not in (folder / ".venv" / "bin" / "activate").read_text()


def test_a_second_call_installs_nothing(checkout):
    folder, _ = checkout
    before = (folder / ".venv").stat()
    done = bootstrap(folder, PIP_INDEX_URL="http://127.0.0.1:9/", PIP_NO_INDEX="1", PATH="/usr/bin:/bin")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (folder / ".venv").stat().st_ino == before.st_ino
    assert (folder / ".venv").stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize("name", ["constraints.txt", "pyproject.toml"])
def test_a_changed_list_of_packages_makes_it_outdated(checkout, name):
    folder, module = checkout
    assert module.current_by_its_python({})
    path = folder / name
    content = path.read_bytes()
    path.write_bytes(content + b"# changed\n")
    try:
        assert not module.current_by_its_python({})
    finally:
        path.write_bytes(content)
    assert module.current_by_its_python({})


def test_a_new_version_makes_it_outdated_and_other_lines_do_not(checkout):
    folder, module = checkout
    path = folder / "mfsim" / "__init__.py"
    content = path.read_text()
    path.write_text(content + "# changed\n")
    try:
        assert module.current_by_its_python({})
        path.write_text(content.replace("__version__ = ", "__version__ = '9.' + "))
        assert not module.current_by_its_python({})
    finally:
        path.write_text(content)
    assert module.current_by_its_python({})


def test_a_lost_package_makes_it_broken(checkout):
    folder, module = checkout
    (info,) = folder.glob(".venv/lib/python*/site-packages/numpy-1.0.dist-info")
    info.rename(folder / "elsewhere")
    try:
        assert not module.current_by_its_python({})
    finally:
        (folder / "elsewhere").rename(info)


def test_a_moved_checkout_makes_it_foreign(checkout):
    folder, _ = checkout
    moved = folder.with_name("moved")
    folder.rename(moved)
    try:
        assert not load(moved).current_by_its_python({})
    finally:
        moved.rename(folder)


def test_another_python_makes_it_foreign(checkout):
    _, module = checkout
    assert module.current_by_its_python({"executable": os.path.realpath(sys.executable)})
    assert not module.current_by_its_python({"executable": "/usr/bin/another"})


def test_a_broken_environment_is_rebuilt_and_extras_are_added(tmp_path):
    folder = copy_checkout(tmp_path)
    module = load(folder)
    (folder / ".venv").mkdir()
    (folder / ".venv" / "left over").touch()
    (folder / ".venv.new-1").mkdir()
    module.renew(["test"])
    assert module.current_by_its_python({})
    assert not (folder / ".venv" / "left over").exists()
    assert not (folder / ".venv.new-1").exists()
    inode = (folder / ".venv").stat().st_ino
    assert bootstrap(folder, "dev", PATH=path_of(tmp_path / "bin")).returncode == 1
    module.renew(["dev", "test"])
    assert (folder / ".venv").stat().st_ino == inode
    assert bootstrap(folder, "dev", PATH=path_of(tmp_path / "bin2")).returncode == 0


def test_a_failed_installation_keeps_the_old_environment(tmp_path, monkeypatch, capsys):
    folder = copy_checkout(tmp_path)
    module = load(folder)
    (folder / ".venv").mkdir()

    def fail(venv, extras):
        raise subprocess.CalledProcessError(7, ["python", "-m", "pip"])

    module.install = fail
    monkeypatch.setattr(sys, "argv", ["make_venv.py"])
    assert module.main() == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "mfsim: `pip install` failed with exit status 7, see above; PIP_ARGS takes more arguments for pip, such as another index"
    )
    assert sorted(path.name for path in folder.glob(".venv*")) == [".venv", ".venv.lock"]
    assert not list((folder / ".venv").iterdir())


def test_no_python_is_one_sentence(tmp_path):
    done = bootstrap(copy_checkout(tmp_path), PATH=path_of(tmp_path / "bin", python3="exit 127", python="exit 2"))
    assert done.returncode == 1
    assert done.stderr == (
        "mfsim: CPython 3.11, 3.12 or 3.13 is needed and none was found; "
        "install one, or name it with `make demo PYTHON=/path/to/python3`\n"
    )


def test_a_python_without_venv_is_one_sentence(tmp_path):
    done = bootstrap(copy_checkout(tmp_path), PATH=path_of(tmp_path / "bin", python3_12="exit 4", python3="exit 127"))
    assert done.returncode == 1
    assert done.stderr == (
        "mfsim: python3.12 has no venv or no ensurepip; install them (Debian and Ubuntu: apt install python3-venv)\n"
    )


def test_a_shim_that_fails_is_passed_over(tmp_path):
    path = path_of(
        tmp_path / "bin", python3_13="echo shim: not found >&2; exit 127", python3=f'echo "$@" > "{tmp_path}/called"'
    )
    done = bootstrap(copy_checkout(tmp_path), "dev", PATH=path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "called").read_text() == "-I tools/make_venv.py dev\n"


def test_a_named_python_must_run(tmp_path):
    path = path_of(tmp_path / "bin", python="exit 0")
    done = bootstrap(copy_checkout(tmp_path), PYTHON="/no/such python", PATH=path)
    assert done.returncode == 1
    assert done.stderr == "mfsim: `PYTHON` must be a CPython 3.11, 3.12 or 3.13 that runs, not /no/such python\n"
