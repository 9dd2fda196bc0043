"""Every python and sh block of README and docs runs, in order, a page in one directory and one namespace.

The notebook is history and is left out. Long commands are reduced by the rules of `SHORTER`, which pages need
not know of:

- training makes its run directory and writes an untrained policy instead of taking steps;
- an evaluation has one seed and two queries, and only Random beside what the command names itself;
- setting up an environment, the test suite and other benchmarks are looked up, not run.

A python block that begins with a comment such as ``# mine.py`` is that file, in the directory of the page.
``measure`` is there without being defined.
"""

import importlib.util
import re
import runpy
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from alx.__main__ import main as alx_main
from alx.network.policy import init
from alx.train import cli, run
from benchmarks.evaluation.cli import main as evaluation_main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NOTES = [*PAGES[1:], *sorted((ROOT / "docs/notebook").glob("*.md")), ROOT / "CONTRIBUTING.md"]


def blocks(text: str) -> list[tuple[str, str]]:
    """Language and content of the python and sh blocks."""
    return re.findall(r"^```(python|sh)\n(.*?)^```$", text, re.M | re.S)


def measure(x):
    """A stub for what users measure."""
    return float(np.sum(np.sin(np.asarray(x, float))))


def python(code: str, names: dict) -> None:
    if file := re.match(r"# (\w+)\.py\n", code):
        Path(f"{file[1]}.py").write_text(code, "utf-8")
        sys.modules.pop(file[1], None)
        names |= vars(importlib.import_module(file[1]))
    else:
        exec(compile(code, "<block>", "exec"), names)


def sh(text: str) -> None:
    for line in text.replace("\\\n", " ").splitlines():
        for command in re.split(r" && ", line.split("#")[0].strip()):
            if command:
                shell_command(shlex.split(command))


def shell_command(words: list[str]) -> None:
    program = Path(words[0]).name
    if program in ("git", "cd", "pip", "ruff", "pyright") or words[1:3] == ["-m", "venv"]:
        return
    assert program.startswith("python"), f"no rule for {words}"
    if words[1] == "-m":
        name, rest = words[2], words[3:]
        if name == "alx":
            assert succeeds(alx_main, rest)
        else:
            assert importlib.util.find_spec(name) is not None, name
            for path in [each for each in rest if each.startswith("tests/")]:
                assert (ROOT / path).exists(), path
        return
    SHORTER.get(words[1], script)(words)


def succeeds(main: Callable[[], Any], words: list[str]) -> bool:
    """Whether a command line ends without complaint, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["command", *words])
        try:
            return not main()
        except SystemExit as end:
            return not end.code


def train(words: list[str]) -> None:
    """All of a training but its steps."""
    arguments = cli.parse(words[2:])
    out, trainer = cli.prepare(arguments, cli.command(words[2:]))
    untrained(trainer, out)


def untrained(trainer, out: Path, show: Callable = print) -> None:
    """In the place of `alx.train.run.train`: the policy as the training starts with it."""
    params = init(jax.random.key(0), trainer.policy({}).config)
    run.store.save(out / run.POLICY, trainer.policy(params), {})


def evaluate(words: list[str]) -> None:
    """One seed and two queries."""
    rest = words[2:]
    for name, value in (("--seeds", "1"), ("--budget", "2"), ("--methods", "random"), ("--suite", "sin")):
        own = name == "--suite" and ("--csv" in rest or "--task" in rest)
        if name in rest and name != "--methods":
            rest[rest.index(name) + 1] = value
        elif name not in rest and not own:
            rest += [name, value]
    assert succeeds(evaluation_main, rest)


def script(words: list[str]) -> None:
    """A file of the clone."""
    assert (ROOT / words[1]).exists(), words[1]


SHORTER = {"train.py": train, "evaluate.py": evaluate}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.filterwarnings("ignore:.*is non-interactive")
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(run, "train", untrained)
    names = {"measure": measure, "__name__": "page"}
    for language, content in blocks(page.read_text("utf-8")):
        if language == "python":
            python(content, names)
        else:
            sh(content)


def test_blocks_are_found_in_order():
    text = "a\n```python\nx = 1\n```\n\n```text\nno\n```\n```sh\nls\n```\n"
    assert blocks(text) == [("python", "x = 1\n"), ("sh", "ls\n")]


def test_api_page_is_up_to_date(monkeypatch):
    made = runpy.run_path(str(ROOT / "docs/make_api.py"))
    assert made["PAGE"].read_text("utf-8") == made["page"](), "run: python docs/make_api.py"


@pytest.mark.parametrize("page", NOTES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    assert not [target for target in targets if not (page.parent / target).exists()]
