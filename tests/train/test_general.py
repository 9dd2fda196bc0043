"""Training of the general policy: its shapes, its gradient, and the loss of the deviation."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_policy import random_policy
from scipy.stats import t as student

from alx.belief.predict import FLOOR
from alx.network.policy import init
from alx.network.sight import Scene
from alx.train import calibrate, general, general_config
from alx.train.general_config import GeneralConfig, Shape, default, with_steps

SHAPE = Shape(1, 4)
CONFIG = GeneralConfig(dim=(1,), T=(3,), n_init=(1,), batch=2, chunk=2, steps=2, deviation_steps=1)


def test_the_gradient_is_that_of_the_loss_with_what_was_seen_before_each_query_held(monkeypatch):
    """In double precision, for queries move little and so does the loss."""
    monkeypatch.setattr(general, "LARGEST", np.inf)
    with jax.enable_x64(True):
        key, random = jax.random.key(3), np.random.default_rng(0)
        # Gentle scores: where they are steep, the least step changes which place is the best.
        params = jax.tree.map(lambda a: np.asarray(a, np.float64), init(key, CONFIG.judge))
        params["correction"]["kernel"] = 0.05 * random.normal(size=params["correction"]["kernel"].shape)
        direction = 0.1 * random.normal(size=params["correction"]["kernel"].shape)
        case = jax.tree.map(
            lambda a: np.asarray(a, np.float64) if a.dtype == jnp.float32 else a,
            general.simulate(key, CONFIG, SHAPE, CONFIG.chunk),
        )
        monkeypatch.setattr(general, "simulate", lambda *_: case)
        _, gradient = jax.jit(lambda p: general.chunk_gradient(p, CONFIG, SHAPE, key))(params)
        played = jax.jit(lambda p: general.play(p, CONFIG, SHAPE, case))(params)
        best = jax.vmap(general.best_kernels)(played.belief)
        kernels = jax.tree.map(lambda a: jnp.moveaxis(a, 0, -1), best)

        @jax.jit
        def loss(step):
            kernel = params["correction"]["kernel"] + step * direction
            moved = {**params, "correction": {**params["correction"], "kernel": kernel}}
            soften = jax.vmap(jax.vmap(lambda s, p: general.soften(moved, CONFIG.judge, s, p)))
            x = soften(played.scenes, played.places)
            x = jnp.where((jnp.arange(SHAPE.capacity) < case.start.given)[:, None, None], played.x, x)
            return general.losses(CONFIG, case, kernels, x).mean()

        slope = (loss(1e-6) - loss(-1e-6)) / 2e-6  # so small that the best place stays the best
        found = jnp.vdot(gradient["correction"]["kernel"], direction)
        np.testing.assert_allclose(found, slope, rtol=0.1)


def test_given_points_have_no_gradient_and_are_those_of_the_simulation():
    case = general.simulate(jax.random.key(0), CONFIG, SHAPE, 2)
    played = general.play(random_policy().params, CONFIG, SHAPE, case)
    assert int(case.start.given) == 1
    np.testing.assert_allclose(played.x[0], case.simulation.x[:, 0].T, atol=1e-6)
    assert ((played.x >= 0) & (played.x <= 1)).all()


def test_the_loss_of_the_deviation_is_minus_the_log_density_of_a_student_t():
    policy = random_policy()
    zero = jax.tree.map(jnp.zeros_like, policy.params)  # a factor of one
    scene = Scene(
        jnp.zeros((1, 3, 16)),
        jnp.zeros((1, 3)),
        jnp.zeros((1, 2, 3, 4)),
        jnp.zeros((1, 4, 7)),
        jnp.ones((1, 4), bool),
        jnp.ones((1, 3), bool),
    )
    mean, variance, truth = jnp.array([[0.0, 1.0, 2.0]]), jnp.array([[1.0, 0.2, 3.0]]), jnp.ones((1, 3))
    found = calibrate.loss(zero, CONFIG, scene, mean, variance, truth)
    scale = np.sqrt(np.asarray(variance) + FLOOR)
    density = student.logpdf((np.asarray(truth) - np.asarray(mean)) / scale, 6) - np.log(scale)
    np.testing.assert_allclose(found, -(density.mean() - student.logpdf(0, 6)), atol=1e-5)


def test_shapes_of_a_range_cover_it_and_one_case_is_one_shape():
    assert default((2,), (20,)).shapes == (Shape(2, 21),)
    config = default((1, 6), (5, 60), (0, 30))
    assert {shape.dim for shape in config.shapes} == {1, 2, 3, 6}
    assert min(s.capacity for s in config.shapes) == 10  # five given points and five queries
    assert max(s.capacity for s in config.shapes) == general_config.LARGEST_SIZE
    assert set(config.shapes) - set(config.judge_shapes) == {Shape(1, general_config.LARGEST_SIZE)}
    assert default((1,), (10,)).judge_shapes == (Shape(1, 11),)


def test_a_config_survives_json():
    config = with_steps(default((1, 3), (5, 9), (0, 2)), 70)
    assert GeneralConfig.from_json(config.to_json()) == config


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dim": (0,)}, "dim must be a whole number of at least 1, or two, LOW HIGH"),
        ({"dim": (3, 1)}, "dim must be"),
        ({"T": (1, 2, 3)}, "T must be"),
        ({"n_init": (-1,)}, "n_init must be a whole number of at least 0"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"lr": 0.0}, "lr must be a positive number"),
        ({"decay": 1.5}, "decay must be above 0 and at most 1"),
        ({"seed": -1}, "seed must be between"),
    ],
)
def test_a_config_that_makes_no_sense_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(CONFIG, **change)
