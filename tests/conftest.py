"""Settings of JAX for all tests in this process.

Four devices on the host, so that work can be shared between one, two and four of them; and little
optimisation, as nearly all the time of a test is compilation.
"""

import resource

import jax
import pytest
import small_run
from hypothesis import settings

from alx.train import run

jax.config.update("jax_num_cpu_devices", 4)
jax.config.update("jax_disable_most_optimizations", True)


# The same cases every time; with --hypothesis-profile default pytest looks for new ones.
settings.register_profile("same", derandomize=True)
settings.load_profile("same")

MUCH = 1.2e6  # KB at the most so far


@pytest.fixture(scope="module", autouse=True)
def compiled_programs():
    """Forget them after a file once they take much memory: hardly any serves another file."""
    yield
    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > MUCH:
        jax.clear_caches()


@pytest.fixture(scope="session")
def cache_directory(tmp_path_factory):
    return tmp_path_factory.mktemp("jax")


@pytest.fixture
def small_runs(cache_directory, monkeypatch):
    """Runs of a few epochs on one device."""
    monkeypatch.setattr(run, "EPOCH", 4)
    small_run.one_device(monkeypatch)
    with small_run.compiled_once(cache_directory):
        yield


@pytest.fixture(scope="session")
def finished(tmp_path_factory, cache_directory):
    """An undisturbed run."""
    out = tmp_path_factory.mktemp("runs") / "whole"
    with pytest.MonkeyPatch.context() as patch, small_run.compiled_once(cache_directory):
        patch.setattr(run, "EPOCH", 4)
        small_run.one_device(patch)
        small_run.train(out)
    return out
