"""Build the wheel, install it in a fresh environment and import it there from `/`.

The dependencies come from the environment that runs this script, through a .pth file, so nothing is
downloaded; mfsim itself comes from the wheel alone: the checkout is not on the path, and the modules
that are imported must lie in the fresh environment.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys
import sysconfig
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODULES = ("mfsim", "mfsim.export", "mfsim.rtl_models", "mfsim.cli.app")
IMPORT = """
import importlib, pathlib, sys
for name in sys.argv[1:]:
    path = pathlib.Path(importlib.import_module(name).__file__)
    if pathlib.Path(sys.prefix) not in path.parents:
        sys.exit(f"{name} comes from {path}, not from the wheel")
import mfsim
for name in ("py.typed", "__init__.pyi"):
    if not pathlib.Path(mfsim.__file__).with_name(name).is_file():
        sys.exit(f"the wheel lacks {name}")
"""


def run(*command: str | pathlib.Path, cwd: pathlib.Path = ROOT) -> None:
    """Run a command; its failure ends the script."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(str(part) for part in command)} failed with exit status {done.returncode}")


def main() -> None:
    """Do the three steps."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", ROOT)
        (wheel,) = (folder / "dist").glob("*.whl")
        run(sys.executable, "-m", "venv", folder / "venv")
        python = folder / "venv" / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel)
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        site = folder / "venv" / "lib" / version / "site-packages"
        # A path line, not a `site.addsitedir` line: the .pth file of the editable checkout must not be read.
        (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
        run(python, "-W", "error::ImportWarning", "-c", IMPORT, *MODULES, cwd=pathlib.Path("/"))
        run(folder / "venv" / "bin" / "mfsim", "--version", cwd=pathlib.Path("/"))
        # Blocks are data files, which a wheel can lack although every module is there.
        for block in ("mf_term", "mf_dot", "wht"):
            run(folder / "venv" / "bin" / "mfsim", "rtl", block, "--out", folder / block, cwd=pathlib.Path("/"))
        print(f"{wheel.name} was installed and imported")


if __name__ == "__main__":
    main()
