"""Settings of JAX for all tests in this process.

Four devices on the host, so that work can be shared between one, two and four of them; and little
optimisation, as nearly all the time of a test is compilation.
"""

import ctypes
import gc
import mmap
import os
import resource
from pathlib import Path

import jax
import jaxlib
import pytest
import small_run
from hypothesis import settings

from alx.train import run

gc.set_threshold(50_000, 20, 50)  # JAX makes much of which little is garbage
jax.config.update("jax_num_cpu_devices", 4)
jax.config.update("jax_disable_most_optimizations", True)


def known(flags: list[str]) -> list[str]:
    """Those that this XLA has: one that it does not know ends the process."""
    libraries = [*Path(jaxlib.__file__).parent.glob("libjax_common.*")]
    if len(libraries) != 1:
        return []
    with open(libraries[0], "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return [flag for flag in flags if content.find(flag.split("=")[0].encode()) >= 0]


# Half of the time XLA takes here goes to setting up MLIR for each loop it writes, with the new emitters, and
# LLVM for each of 32 parts of a program. Processes that tests start have this from the environment.
FLAGS = known(["xla_cpu_use_fusion_emitters=false", "xla_cpu_parallel_codegen_split_count=1"])
os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *(f"--{flag}" for flag in FLAGS)])

# The same cases every time; with --hypothesis-profile default pytest looks for new ones.
settings.register_profile("same", derandomize=True)
settings.load_profile("same")

MUCH = 1.2e6  # KB at the most so far
give_back = getattr(ctypes.CDLL(None), "malloc_trim", lambda _: 0)  # of glibc


def pytest_collection_finish():
    """What is there now stays: the collector need not look at it again and again while JAX traces."""
    gc.freeze()


@pytest.fixture(autouse=True)
def _memory():
    """Return what the compiler needed to the system: glibc keeps it, some 100 MB each time."""
    yield
    give_back(0)


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
