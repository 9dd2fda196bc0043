"""Every result says how it was made, and claims no commit that is not alx's own."""

import subprocess
from pathlib import Path

import jax
import pytest

from alx.io import cache, provenance


@pytest.fixture(autouse=True)
def _asked_anew():
    provenance.commit.cache_clear()
    yield
    provenance.commit.cache_clear()


def test_a_result_carries_command_versions_commit_and_device():
    made = provenance.of_run()
    assert made["command"].startswith("python ")
    assert {"alx", "jax", "python"} <= made["versions"].keys()
    assert made["device"]["platform"] == jax.default_backend()
    assert "commit" in made
    assert provenance.of_run("python train.py")["command"] == "python train.py"


def test_the_commit_of_a_clone_that_alx_is_only_installed_in_is_not_its_own(tmp_path, monkeypatch):
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    assert provenance.commit()
    provenance.commit.cache_clear()
    (tmp_path / "site-packages").mkdir()
    monkeypatch.setattr(provenance, "ROOT", tmp_path / "site-packages")
    assert provenance.commit() is None


def test_a_user_without_a_home_has_no_cache(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    before = jax.config.jax_compilation_cache_dir
    cache.enable()
    assert jax.config.jax_compilation_cache_dir == before
