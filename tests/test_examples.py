"""Every example runs as it stands, with a policy file for its argument."""

import runpy
import sys
from pathlib import Path

import pytest
from random_policy import random_policy

import alx

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path, monkeypatch, capsys):
    policy = tmp_path / "policy.safetensors"
    alx.save(policy, random_policy(), {})
    monkeypatch.setattr(sys, "argv", [str(path), str(policy)])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()
