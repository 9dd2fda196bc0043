"""Make the shipped policies again: python -m benchmarks.policies.make [NAME ...]

Each is trained in runs/policies/NAME (a stopped run resumes there), compared with other ways to query on
simulated functions of all priors, and written to alx/policies with its card. Runs for hours.
"""

import dataclasses
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import numpyro.distributions as dist
import tyro

from alx.io import cache, store
from alx.network.policy import Policy, PolicyConfig
from alx.train import run
from alx.train.prior import PRIORS, Prior, words
from benchmarks.studies import simulated

RUNS = Path("runs/policies")
SHIPPED = Path(__file__).parents[2] / "alx" / "policies"
FUNCTIONS = 200

PAPER = "--network paper --prior paper"
# Instead of the paper's 25 x 25 x 10 and 250 x 5 x 5: more kernels in the same time, in whole chunks.
# At D = 2 and 5e-4 the losses of long trajectories jump up again and again.
ROLLOUTS = {
    "dim1-T10": "--batch 32 8 1 --lr 5e-4 --steps 2000",
    "dim2-T20": "--batch 32 8 1 --lr 2e-4 --steps 1500",
}
# The learning rate decays further than by default; with two and three inputs functions are smoother.
ONE_INPUT = "--network anchors --steps 8000 --decay 0.967"
TWO_INPUTS = "--network anchors --lengthscale 0.08 3 --steps 20000 --warmup 3500 --decay 0.987"
THREE_INPUTS = "--network anchors --lengthscale 0.08 3 --steps 2000 --warmup 800 --decay 0.89"
ONE_DEVICE = " --devices 1"  # so that several can be trained side by side
STATIC = "--network static --prior broad --objective integrated-variance --lr 3e-3 --steps 2000"
SINGLE_QUERIES = "--batch 256 4 1 --lr 5e-4 --steps 1000"


@dataclasses.dataclass(frozen=True)
class Recipe:
    """A shipped policy: what for, and the arguments of train.py."""

    purpose: str
    arguments: str


def recipes() -> dict[str, Recipe]:
    """All shipped policies by name."""
    made = {
        "dim1-T10": Recipe("the policy to use with one input", f"--dim 1 --T 10 {ONE_INPUT}"),
        "dim2-T20": Recipe("the policy to use with two inputs", f"--dim 2 --T 20 {TWO_INPUTS}"),
        "dim3-T30": Recipe(
            "the policy to use with three inputs", f"--dim 3 --T 30 {THREE_INPUTS}{ONE_DEVICE}"
        ),
    }
    for size, arguments in (("dim1-T10", "--dim 1 --T 10"), ("dim2-T20", "--dim 2 --T 20")):
        made[f"static-{size}"] = Recipe(
            "the best fixed design, a baseline that does not look at y",
            f"{arguments} {STATIC}",
        )
        for name, extra in (
            ("entropy", f"{ROLLOUTS[size]} --objective entropy"),
            ("regularized-entropy", f"{ROLLOUTS[size]} --objective regularized-entropy"),
            ("myopic", f"{SINGLE_QUERIES} --objective regularized-entropy --myopic"),
            ("dad", f"{ROLLOUTS[size]} --objective dad"),
        ):
            made[f"paper-{name}-{size}"] = Recipe(
                f"the paper's network and its {name} objective, for comparison",
                f"{arguments} {PAPER} {extra}{ONE_DEVICE if size == 'dim1-T10' else ''}",
            )
    return made


def train(name: str, recipe: Recipe) -> Path:
    """Train or resume; returns the run's directory."""
    out = RUNS / name
    target = f"--resume {out}" if (out / "config.json").exists() else f"{recipe.arguments} --out {out}"
    subprocess.run([sys.executable, "train.py", *shlex.split(target)], check=True)
    return out


def scores(policy: Policy) -> dict[str, dict[str, float]]:
    """Mean RMSE per prior and way to query, on the same functions."""
    params, config = policy.params, policy.config
    assert isinstance(config, PolicyConfig)
    table = {}
    for prior in PRIORS:
        problem = simulated.draw(PRIORS[prior], config, FUNCTIONS, seed=1)
        queries = {
            "random": simulated.random_queries(problem),
            "sobol": simulated.sobol_queries(problem),
            "GP AL, theta known": simulated.greedy_queries(problem),
            "this policy, blind": simulated.policy_queries(problem, params, config, blind=True),
            "this policy": simulated.policy_queries(problem, params, config),
        }
        table[prior] = {name: float(np.mean(simulated.rmse(problem, x))) for name, x in queries.items()}
    return table


def describe(prior: Prior) -> str:
    """The named prior that is most like it, and where it differs."""

    def shown(value) -> str:
        return words(value) if isinstance(value, dist.Distribution) else str(value)

    def changes(name: str) -> list[str]:
        own, other = prior.to_json(), PRIORS[name].to_json()
        different = [field for field in own if own[field] != other[field]]
        return [f"{field} {shown(getattr(prior, field))}" for field in different]

    name = min(PRIORS, key=lambda name: len(changes(name)))
    return ", ".join([f"`{name}`", *changes(name)])


def card(name: str, recipe: Recipe, out: Path, policy: Policy) -> str:
    """The model card, in Markdown."""
    config = run.read(out).trainer.config
    last = run.read_metrics(out)[-1]
    table = scores(policy)
    device = store.read_record(out / run.POLICY)["device"]
    rows = "\n".join(
        f"| {way} | " + " | ".join(f"{table[prior][way]:.4f}" for prior in PRIORS) + " |"
        for way in next(iter(table.values()))
    )
    size = f"D = {config.policy.dim}, T = {config.policy.T}, N_init = {config.policy.n_init}"
    kind = f"`{config.objective}`{' (myopic)' if config.myopic else ''}"
    work = f"{last['step']} steps of {config.batch.experiments} experiments, lr {config.lr:g}"
    machine = f"{last['seconds'] / 60:.0f} minutes on {device['count']} x {device['kind']}"
    beyond = "more than T queries were not trained"
    if config.policy.network != "paper":
        beyond = "more than T queries continue with a space-filling design that was not trained"
    return f"""# {name}: {recipe.purpose}

- {size}; network `{config.policy.network}`
- prior {describe(config.prior)}; objective {kind}, seed {config.seed}
- {work}; {machine}
- made with `python train.py {recipe.arguments}`

RMSE of the posterior with the true theta after T queries, mean over {FUNCTIONS} simulated functions of each:

| queries | {" | ".join(PRIORS)} |
|---|{"---|" * len(PRIORS)}
{rows}

Limits: inputs scaled to the unit cube, outputs to zero mean and unit variance (`alx.Learner` does both);
{beyond}.
"""


def make(name: str, recipe: Recipe) -> None:
    """Train one policy and ship it."""
    out = train(name, recipe)
    policy = store.load(out / "policy.safetensors")
    text = card(name, recipe, out, policy)
    shutil.copyfile(out / "policy.safetensors", SHIPPED / f"{name}.safetensors")
    (SHIPPED / f"{name}.md").write_text(text, encoding="utf-8")
    print(text)


def main(names: tyro.conf.Positional[tuple[str, ...]] = ()) -> int:
    """Make the named policies, or all of them."""
    known = recipes()
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"make_policies: no policy {unknown[0]!r}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    jax.config.update("jax_num_cpu_devices", os.cpu_count() or 1)
    cache.enable()
    for name in names or known:
        make(name, known[name])
    return 0


if __name__ == "__main__":
    sys.exit(tyro.cli(main))
