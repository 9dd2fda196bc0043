"""A training run of ten steps with epochs of four; the fixtures that go with it are in conftest.py."""

import contextlib

import jax
import numpy as np
from jax.experimental.compilation_cache import compilation_cache
from jax.sharding import Mesh

from alx.io import store
from alx.network.policy import PolicyConfig
from alx.train import run
from alx.train import step as training
from alx.train.config import TrainConfig
from alx.train.prior import Prior
from alx.train.simulate import Batch
from alx.train.trainer import RolloutTrainer

CONFIG = TrainConfig(PolicyConfig(1, 2, network="static"), prior=Prior(), batch=Batch(4), steps=10, lr=0.1)
TRAINER, COMMAND = RolloutTrainer(CONFIG), "python train.py --dim 1 --T 2"


@contextlib.contextmanager
def compiled_once(directory):
    """Each run makes its functions anew; a cache on disk spares their compilation."""
    jax.config.update("jax_compilation_cache_dir", str(directory))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    compilation_cache.reset_cache()
    yield
    jax.config.update("jax_compilation_cache_dir", None)
    compilation_cache.reset_cache()


def one_device(monkeypatch, count: int = 1):
    mesh = Mesh(np.array(jax.devices()[:count]), (training.AXIS,))
    monkeypatch.setattr(run, "make_mesh", lambda: mesh)


def train(out, show=lambda epoch: None):
    if not out.exists():
        run.create(out, TRAINER, COMMAND)
    return run.train(TRAINER, out, show)


def design(out):
    return np.asarray(store.load(out / "policy.safetensors").params["design"])


def contents(out):
    """All files and when they were written, but for the lock, which every process takes."""
    files = [p for p in out.rglob("*") if p.is_file() and p.name != "lock"]
    return {p.relative_to(out): (p.stat().st_mtime_ns, p.read_bytes()) for p in files}


def stop_at(step):
    def show(epoch):
        if epoch["step"] == step:
            raise KeyboardInterrupt

    return show
