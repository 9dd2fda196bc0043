"""The tests against the wheel on one Python, with the oldest or the newest dependencies it allows.

    python -m benchmarks.reliability.compatibility --python python3.13 --versions newest --where /tmp/alx-3.13

The tests run beside a copy of everything but the package, so that they can only find the installed wheel.
"""

import dataclasses
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Literal

import tyro

ROOT = Path(__file__).parents[2]
PACKAGE = ("alx", "pyproject.toml", "README.md", "LICENSE")
BESIDE = ("tests", "benchmarks", "examples", "train.py", "evaluate.py", "pyproject.toml", "README.md")


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Make a virtual environment with the wheel and run its tests in it.

    Attributes:
        python: the interpreter.
        versions: oldest takes every lower bound for the version itself.
        where: a directory for the environment and the copy of the tests.
        tests: what to run of them; all by default.
    """

    python: str
    versions: Literal["oldest", "newest"]
    where: Path
    tests: tuple[str, ...] = ("tests",)


def requirements(versions: Literal["oldest", "newest"]) -> list[str]:
    """What the package and its tests need."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    return [line.replace(">=", "==") for line in needed] if versions == "oldest" else needed


def install(arguments: Arguments) -> str:
    """The interpreter of a fresh environment with the wheel in it."""
    venv, wheels = arguments.where / "venv", arguments.where / "wheels"
    _run(arguments.python, "-m", "venv", "--clear", venv)
    python = str(venv / "bin/python")
    shutil.rmtree(wheels, ignore_errors=True)
    # From a copy: setuptools leaves files beside the source, and takes them up the next time.
    source = copy(PACKAGE, arguments.where / "source")
    _run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, source)
    _run(
        *(python, "-m", "pip", "install", "--quiet"),
        *(*wheels.glob("alx-*.whl"), *requirements(arguments.versions)),
    )
    return python


def copy(names: tuple[str, ...], target: Path) -> Path:
    """A fresh directory with these files and directories of the project."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in names:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name)
        else:
            shutil.copy(ROOT / name, target / name)
    return target


def main() -> None:
    """Exit with the code of pytest."""
    arguments = tyro.cli(Arguments, description=__doc__)
    arguments = dataclasses.replace(arguments, where=arguments.where.absolute())
    python = install(arguments)
    beside = copy(BESIDE, arguments.where / "beside")
    _run(python, "-m", "pip", "list", "--format", "freeze")
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", *arguments.tests]
    raise SystemExit(subprocess.run(command, cwd=beside).returncode)


def _run(*command: object) -> None:
    done = subprocess.run([str(part) for part in command])
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command[:4]))} ... ended with {done.returncode}")


if __name__ == "__main__":
    sys.exit(main())
