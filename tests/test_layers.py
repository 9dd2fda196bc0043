"""Who imports whom: data moves left to right, and no layer knows of one to its right."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
USERS = {"alx.propose", "alx.learner", "alx.belief", "alx.history", "alx.policies", "alx.serve"}
# What each layer may not import; alx.train.cli is a command line.
FORBIDDEN = {
    "alx/gp": {"alx.network", "alx.io", "alx.train", *USERS},
    "alx/network": {"alx.io", "alx.train", *USERS},
    "alx/io": {"alx.gp", "alx.train", *USERS} - {"alx.policies"},
    "alx/learner": {"alx.train", "alx.serve"},
    "alx/history.py": {"alx.gp", "alx.network", "alx.io", "alx.train", *USERS} - {"alx.history"},
    "alx/belief": {"alx.io", "alx.train", "alx.propose", "alx.learner", "alx.serve"},
    "alx/propose.py": {"alx.train", "alx.learner", "alx.serve"},
    "alx/__init__.py": {"alx.train", "alx.serve"},
    "alx/__main__.py": {"alx.train"},
    "alx/serve": {"alx.train", "alx.network", "alx.gp", "alx.propose", "alx.belief"},
    "alx/train": {"alx.learner", "alx.serve"},
    "alx": {"benchmarks", "train", "evaluate"},
}


def imports(source: str) -> set[str]:
    """The modules that a file imports anywhere, `from a import b` as a.b too, for b may be a module."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            found |= {f"{node.module}", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def within(module: str, layers: set[str]) -> bool:
    return any(module == layer or module.startswith(layer + ".") for layer in layers)


@pytest.mark.parametrize("layer", FORBIDDEN)
def test_no_layer_imports_one_to_its_right(layer):
    place = ROOT / layer
    files = [place] if place.suffix else sorted(place.rglob("*.py"))
    assert files
    wrong = {
        f"{file.relative_to(ROOT)} imports {module}"
        for file in files
        for module in imports(file.read_text("utf-8"))
        if within(module, FORBIDDEN[layer])
    }
    assert not wrong


def test_every_way_to_import_is_seen():
    source = "import a.b\nfrom c import d\ndef f():\n    from e.f import g as h\n"
    assert imports(source) == {"a.b", "c", "c.d", "e.f", "e.f.g"}
    assert within("a.b", {"a"})
    assert not within("ab", {"a"})


def test_the_top_of_the_package_is_short():
    entries = [each for each in (ROOT / "alx").iterdir() if each.name not in ("__pycache__", "py.typed")]
    assert len(entries) <= 13
