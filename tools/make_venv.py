"""Make, renew or check the `.venv` of this checkout. Called by tools/bootstrap.

A new environment is built beside the old one, in `.venv.new-PID`, and renamed when it is whole, so a
broken installation never takes the place of a working one. Its stamp holds what it was made from; an
environment whose stamp says anything else than this checkout needs is built anew:

1. constraints.txt, pyproject.toml or the version in mfsim/__init__.py changed,
2. it lies elsewhere than where it was made (a copied or moved checkout),
3. its Python is not the one that made it,
4. a package that was installed is gone.

A lock makes a second call wait for the first. Missing extras are added to a current environment.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import platform
import shlex
import shutil
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = "mfsim-stamp.json"
BASE_EXTRAS = ("test",)


def wanted() -> dict[str, str]:
    """Return what the stamp of a current environment must say of this checkout."""
    digest = hashlib.sha256()
    for name in ("constraints.txt", "pyproject.toml"):
        digest.update((ROOT / name).read_bytes())
    lines = (ROOT / "mfsim" / "__init__.py").read_text().splitlines()
    digest.update("".join(line for line in lines if line.startswith("__version__")).encode())
    return {"inputs": digest.hexdigest(), "place": str(VENV)}


def python_of(executable: str, prefix: str) -> dict[str, str]:
    """Return what identifies the running Python."""
    return {"python": platform.python_version(), "executable": os.path.realpath(executable), "prefix": prefix}


def installed(venv: pathlib.Path) -> list[str]:
    """Return the names of the packages' metadata folders."""
    return sorted(path.name for path in venv.glob("lib/python*/site-packages/*.dist-info"))


def read_stamp() -> dict:
    """Return the stamp of `.venv`, empty if there is none that can be read."""
    try:
        stamp = json.loads((VENV / STAMP).read_text())
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def is_current(stamp: dict) -> bool:
    """Whether `.venv` is what this checkout needs; to be asked by the environment's own Python."""
    facts = {**wanted(), **python_of(sys.executable, sys.base_prefix)}
    return all(stamp.get(key) == value for key, value in facts.items()) and set(stamp.get("packages", ())) == set(
        installed(VENV)
    )


def current_by_its_python(same_as: dict[str, str]) -> bool:
    """Whether `.venv` runs, is current, and was made by the Python that `same_as` identifies."""
    command = [str(VENV / "bin" / "python"), "-I", __file__, "--check"]
    try:
        status = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False).returncode
    except OSError:
        return False
    stamp = read_stamp()
    return status == 0 and all(stamp.get(key) == value for key, value in same_as.items())


@contextlib.contextmanager
def lock():
    """Hold the lock of this checkout's environment."""
    with open(ROOT / ".venv.lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("mfsim: waiting for another call that makes .venv", file=sys.stderr)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def pip(venv: pathlib.Path, *arguments: str) -> None:
    """Run `pip install` in `venv` with the user's PIP_ARGS; settings that would install elsewhere are taken back."""
    environment = {
        key: value for key, value in os.environ.items() if key not in ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT")
    }
    environment |= {"PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    command = [str(venv / "bin" / "python"), "-I", "-m", "pip", "install", *arguments]
    subprocess.run([*command, *shlex.split(os.environ.get("PIP_ARGS", ""))], check=True, env=environment, cwd=ROOT)


def install(venv: pathlib.Path, extras: list[str]) -> None:
    """Install the dependencies as wheels of the exact versions, then the checkout itself, editable."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    needed = ["setuptools", *project["dependencies"]]
    for extra in extras:
        needed += project["optional-dependencies"][extra]
    pip(venv, "--only-binary", ":all:", "--constraint", "constraints.txt", *needed)
    pip(venv, "--no-deps", "--no-build-isolation", "--no-index", "--editable", ".")


def relocate(old: pathlib.Path, new: pathlib.Path) -> None:
    """Write `new` for `old` in the scripts of the environment at `old`, before it is renamed."""
    for path in [old / "pyvenv.cfg", *(old / "bin").iterdir()]:
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            if bytes(old) in content:
                path.write_bytes(content.replace(bytes(old), bytes(new)))


def write_stamp(venv: pathlib.Path, facts: dict[str, str], extras: list[str]) -> None:
    """Write the stamp of `venv`; it is the last thing written, and atomic."""
    stamp = {**facts, "extras": sorted(extras), "packages": installed(venv)}
    fresh = venv / (STAMP + ".new")
    fresh.write_text(json.dumps(stamp, indent=1) + "\n")
    fresh.replace(venv / STAMP)


def remove(path: pathlib.Path) -> None:
    """Remove a file, link or folder that may be absent."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def build(python: str, facts: dict[str, str], extras: list[str]) -> None:
    """Build a new environment with `python` and put it in the place of `.venv`."""
    new, old = (ROOT / f".venv.{kind}-{os.getpid()}" for kind in ("new", "old"))
    try:
        subprocess.run([python, "-I", "-m", "venv", "--prompt", "mfsim", str(new)], check=True)
        install(new, extras)
        relocate(new, VENV)
        write_stamp(new, facts, extras)
        if VENV.exists() or VENV.is_symlink():
            VENV.rename(old)
        new.rename(VENV)
    finally:
        remove(new)
        remove(old)


def renew(extras: list[str]) -> None:
    """Bring `.venv` to what this checkout and `extras` need."""
    python = getattr(sys, "_base_executable", None) or sys.executable
    own = python_of(python, sys.base_prefix)
    with lock():
        for stale in [*ROOT.glob(".venv.new-*"), *ROOT.glob(".venv.old-*")]:
            remove(stale)
        same_as = own if os.environ.get("PYTHON") else {}
        if not current_by_its_python(same_as):
            print(
                f"mfsim: making .venv with Python {own['python']}; the first time takes some minutes", file=sys.stderr
            )
            build(python, {**wanted(), **own}, extras)
            return
        stamp = read_stamp()
        if not set(extras) <= set(stamp["extras"]):
            facts = {key: stamp[key] for key in {**wanted(), **own}}
            extras = sorted({*extras, *stamp["extras"]})
            install(VENV, extras)
            write_stamp(VENV, facts, extras)


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="Make, renew or check the .venv of this checkout.")
    parser.add_argument("--check", action="store_true", help="only say by the exit status whether .venv is current")
    parser.add_argument("extras", nargs="*", help="extras of pyproject.toml; `test` is always installed")
    arguments = parser.parse_args()
    extras = sorted({*BASE_EXTRAS, *arguments.extras})
    if arguments.check:
        stamp = read_stamp()
        return 0 if is_current(stamp) and set(arguments.extras) <= set(stamp.get("extras", ())) else 1
    try:
        renew(extras)
    except subprocess.CalledProcessError as error:
        what = "`pip install`" if "pip" in error.cmd else "`python -m venv`"
        hint = "PIP_ARGS takes more arguments for pip, such as another index"
        print(f"mfsim: {what} failed with exit status {error.returncode}, see above; {hint}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"mfsim: .venv cannot be made: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("mfsim: interrupted; .venv is as it was", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
