"""No pickle, nothing executed, no network unless the user asks for data."""

import ast
import socket
import sys
from pathlib import Path

import pytest
from random_policy import random_policy

import alx
import evaluate
from benchmarks.evaluation import runner

ROOT = Path(__file__).parents[3]
SOURCES = [*Path(alx.__file__).parent.rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py"), *ROOT.glob("*.py")]
# What runs whatever a file says.
DANGEROUS = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
EXECUTING = {"eval", "exec", "compile", "__import__"}
SHIPPED = "sin,airline,branin,simionescu,townsend"  # the tasks whose data alx carries
NETWORK = {"socket", "urllib", "http", "ftplib", "requests", "pooch"}


def imports(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in EXECUTING:
            names.add(node.func.id)
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            names.add("pickle")
    return names


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_nothing_in_a_file_is_executed_and_only_data_and_the_server_know_the_network(path):
    found = imports(path)
    assert not found & (DANGEROUS | EXECUTING)
    assert not found & NETWORK or path.name == "data.py" or path.parent.name == "serve"


def test_the_scan_sees_what_it_should(tmp_path):
    path = tmp_path / "bad.py"
    path.write_text("import pickle.x\nfrom requests import get\neval('1')\nnp.load(p, allow_pickle=True)\n")
    assert imports(path) == {"pickle", "requests", "eval"}


def test_learning_and_planning_an_evaluation_open_no_connection(tmp_path, monkeypatch):
    def refuse(*arguments, **_):
        raise AssertionError(f"a connection to {arguments[1:]}")

    for name in ("connect", "connect_ex", "sendto", "bind"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with pytest.raises(AssertionError, match="a connection"):
        socket.create_connection(("localhost", 9))
    one = alx.Learner(random_policy(), [(0, 1), (0, 1)])
    one.tell(one.ask(), 1.0)
    one.save(tmp_path / "state")
    alx.Learner.load(tmp_path / "state")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(runner, "run", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    monkeypatch.setattr(sys, "argv", ["evaluate.py", "--suite", SHIPPED, "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit):
        evaluate.main()
