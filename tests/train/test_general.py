"""Training of the general policy: its shapes, its gradient, and the loss of the deviation."""

import dataclasses
import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh
from random_policy import random_policy
from scipy.stats import t as student

from alx.network.deviation import SPREAD
from alx.network.policy import init
from alx.network.sight import Scene
from alx.train import calibrate, general, general_config
from alx.train.general_config import GeneralConfig, Shape, default, with_steps
from alx.train.general_trainer import GeneralTrainer
from alx.train.simulate import Simulation
from alx.train.step import AXIS, make_mesh

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


def test_the_loss_of_the_deviation_is_minus_the_log_densities_of_student_t():
    """That of the truth at each place, and that of the log of its root-mean-square error."""
    params = random_policy().params
    last = {"kernel": jnp.zeros((CONFIG.judge.width, 2)), "bias": jnp.array([0.3, 0.0])}
    whole = {"kernel": jnp.zeros((CONFIG.judge.width, 2)), "bias": jnp.array([-0.2, 0.1])}
    params = {**params, "deviation": {**params["deviation"], "last": last, "whole": whole}}
    scene = Scene(
        jnp.zeros((1, 3, 16)),
        jnp.zeros((1, 3)),
        jnp.zeros((1, 2, 3, 4)),
        jnp.zeros((1, 4, 7)),
        jnp.ones((1, 4), bool),
        jnp.ones((1, 3), bool),
    )
    mean, variance, truth = np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.2, 3.0]), np.ones(3)
    found = calibrate.loss(params, CONFIG, scene, *(jnp.asarray(a[None]) for a in (mean, variance, truth)))
    scale = np.exp(0.3) * np.sqrt(variance)
    places = student.logpdf(truth, 6, mean, scale).mean()
    actual, estimate = (0.5 * np.log(np.square(each).mean()) for each in (truth - mean, scale))
    error = student.logpdf(actual, 6, estimate - 0.2, np.exp(0.1) * SPREAD)
    np.testing.assert_allclose(found, -(places + error), rtol=1e-5)


def test_examples_are_what_a_learner_sees():
    """Outputs by their own mean and deviation, the model in double precision, and the truth in that scale."""
    found = jax.jit(lambda key: calibrate.examples(random_policy().params, CONFIG, SHAPE, key))
    drawn = [found(jax.random.key(seed)) for seed in range(24)]
    scene, mean, variance, truth = jax.tree.map(lambda *each: np.concatenate(each), *drawn)
    assert mean.dtype == variance.dtype == scene.features.dtype == np.float32
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((scene, mean, variance, truth)))
    assert set(scene.mask.sum(1)) == {1, 2, 3, 4}
    outputs = [y[mask] for y, mask in zip(scene.points[:, :, 4], scene.mask, strict=True) if mask.sum() > 1]
    own = [abs(y.mean()) < 1e-3 and abs(y.std(ddof=1) - 1) < 1e-3 for y in outputs]
    assert pytest.approx(np.mean(own), abs=0.2) == 1 - calibrate.KNOWN
    # From several points f is told better than not at all.
    off = np.square(truth - mean)[scene.mask.sum(1) == 4]
    assert np.median(off) < np.median(np.square(truth))


def test_noise_is_taken_away_from_some_experiments():
    simulation = Simulation(*[None] * 7)._replace(noise=jnp.ones((4, 400)))
    case = general.Case(simulation, form=None, formed=None, exact=jnp.ones(400, bool), start=None)
    quiet = calibrate.quieten(jax.random.key(1), case).simulation.noise
    assert (quiet == 0).all(0).mean() == pytest.approx(calibrate.EXACT, abs=0.05)
    assert ((quiet > 0) & (quiet < 1)).all(0).mean() == pytest.approx(calibrate.QUIET, abs=0.05)
    assert quiet[quiet > 0].min() >= 0.99 * calibrate.LEAST_NOISE


@pytest.fixture
def cheap(monkeypatch):
    """Examples that cost nothing to draw: random scenes, and a truth beside them."""

    def examples(params, config, shape, key):
        del params
        keys, batch = iter(jax.random.split(key, 9)), (config.chunk, 5)
        normal = functools.partial(jax.random.normal, dtype=jnp.float32)
        scene = Scene(
            normal(next(keys), (*batch, 16)),
            normal(next(keys), batch),
            jnp.square(normal(next(keys), (config.chunk, 2, 5, shape.capacity))),
            normal(next(keys), (config.chunk, shape.capacity, 7)),
            jnp.ones((config.chunk, shape.capacity), bool),
            jnp.ones(batch, bool),
        )
        return scene, jnp.zeros(batch), jnp.ones(batch), 2 * normal(next(keys), batch)

    monkeypatch.setattr(calibrate, "examples", examples)


def test_a_resumed_step_of_the_deviation_is_the_same(cheap):
    """What was drawn before the stop is drawn again; the judge stays as it is, and the loss falls."""
    config = dataclasses.replace(CONFIG, T=(2, 3), steps=0, deviation_steps=40)
    trainer, mesh = GeneralTrainer(config), make_mesh()
    states, losses = [trainer.initial_state(mesh, random_policy().params)], []
    step = trainer.make_step(mesh)
    for _ in range(12):
        state, metrics = step(states[-1])
        states.append(state)
        losses.append(float(metrics["loss"]))
    again, _ = trainer.make_step(mesh)(states[-2])
    assert int(again.step) == 12
    chex.assert_trees_all_close(again, states[-1], atol=1e-6)
    before, after = states[0].params, states[-1].params
    chex.assert_trees_all_equal(*({k: v for k, v in p.items() if k != "deviation"} for p in (before, after)))
    assert losses[-1] < losses[0]


def test_devices_share_what_is_drawn_and_their_number_changes_nothing(cheap):
    """Three chunks on one device and on two, one of which has a chunk in vain."""
    config = dataclasses.replace(CONFIG, batch=3 * CONFIG.chunk, steps=0, deviation_steps=1)
    trainer, found = GeneralTrainer(config), []
    for devices in (1, 2):
        mesh = Mesh(np.array(jax.devices()[:devices]), (AXIS,))
        state, metrics = trainer.make_step(mesh)(trainer.initial_state(mesh, random_policy().params))
        found.append(jax.device_get((metrics["loss"], state.params)))
    chex.assert_trees_all_close(*found, atol=1e-5)


def test_shapes_of_a_range_cover_it_and_one_case_is_one_shape():
    assert default((2,), (20,)).shapes == (Shape(2, 21),)
    config = default((1, 6), (5, 60), (0, 30))
    assert {shape.dim for shape in config.shapes} == {1, 2, 3, 4, 6}
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
        ({"left": 1.5}, "left must be above 0 and at most 1"),
        ({"steps": 0, "deviation_steps": 0}, "steps and deviation_steps must not both be 0"),
        ({"seed": -1}, "seed must be between"),
    ],
)
def test_a_config_that_makes_no_sense_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(CONFIG, **change)
