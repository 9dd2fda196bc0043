"""A training run of ten steps with epochs of four; the fixtures that go with it are in conftest.py.

What is trained is a design that each step moves at random, which compiles in no time: a run on disk does not
depend on what its trainer does.
"""

import contextlib
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.compilation_cache import compilation_cache
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from small_networks import DESIGN, ROWS

from alx.io import store
from alx.network.policy import Policy, PolicyConfig
from alx.train import run
from alx.train import step as training
from alx.train.step import State


@dataclasses.dataclass(frozen=True)
class ToyTrainer:
    """The random numbers of a step depend on the seed and the step, and its momentum on all steps before."""

    steps: int = 10
    seed: int = 0
    start: str | None = None
    T: int = 2
    rate: float = 0.1

    @property
    def phases(self):
        return [("toy", self.steps)]

    def policy(self, params):
        return Policy(params, PolicyConfig(1, self.T, network=DESIGN))

    def initial_state(self, mesh, params):
        params = {"design": np.zeros((1, ROWS), np.float32)} if params is None else params
        state = State(params, {"momentum": np.zeros((1, ROWS), np.float32)}, np.int32(0))
        return jax.device_put(state, NamedSharding(mesh, PartitionSpec()))

    def make_step(self, mesh):
        @jax.jit
        def step(state):
            noise = jax.random.normal(jax.random.fold_in(jax.random.key(self.seed), state.step), (1, ROWS))
            momentum = 0.9 * state.optimizer["momentum"] + noise
            params = {"design": state.params["design"] + self.rate * momentum}
            metrics = {"loss": jnp.abs(params["design"]).mean(), "norm": jnp.abs(noise).max()}
            return State(params, {"momentum": momentum}, state.step + 1), metrics

        return step

    def make_validation(self, mesh):
        return lambda params: {"rmse": float(jnp.std(params["design"])), "rmse_uniform": 1.0}

    def to_json(self):
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, fields):
        return cls(**fields)


TRAINER, COMMAND = ToyTrainer(), "python train.py --dim 1 --T 2"


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
