"""Make the paper's policies again: python -m benchmarks.policies.make [NAME ...]

Each is trained in runs/policies/NAME (a stopped run resumes there), compared with other ways to query on
simulated functions of all priors, and written beside this file with its card. Runs for hours.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import tyro

from alx.io import cache, store
from alx.network.policy import Policy, PolicyConfig
from alx.train import run
from alx.train.prior import PRIORS
from benchmarks import policies
from benchmarks.policies import simulated

RUNS = Path("runs/policies")
FUNCTIONS = 200

# Instead of the paper's 25 x 25 x 10 and 250 x 5 x 5: more kernels in the same time, in whole chunks.
# At D = 2 and 5e-4 the losses of long trajectories jump up again and again.
ROLLOUTS = {
    "dim1-T10": "--batch 32 8 1 --lr 5e-4 --steps 2000",
    "dim2-T20": "--batch 32 8 1 --lr 2e-4 --steps 1500",
}
SINGLE_QUERIES = "--batch 256 4 1 --lr 5e-4 --steps 1000"
ONE_DEVICE = " --devices 1"  # so that several can be trained side by side


def recipes() -> dict[str, str]:
    """The arguments of train.py for each policy by name."""
    made = {}
    for size, arguments in (("dim1-T10", "--dim 1 --T 10"), ("dim2-T20", "--dim 2 --T 20")):
        for name, extra in (
            ("entropy", f"{ROLLOUTS[size]} --objective entropy"),
            ("regularized-entropy", f"{ROLLOUTS[size]} --objective regularized-entropy"),
            ("myopic", f"{SINGLE_QUERIES} --objective regularized-entropy --myopic"),
            ("dad", f"{ROLLOUTS[size]} --objective dad"),
        ):
            devices = ONE_DEVICE if size == "dim1-T10" else ""
            made[f"paper-{name}-{size}"] = f"{arguments} --network paper --prior paper {extra}{devices}"
    return made


def train(name: str, recipe: str) -> Path:
    """Train or resume; returns the run's directory."""
    out = RUNS / name
    target = f"--resume {out}" if (out / "config.json").exists() else f"{recipe} --out {out}"
    subprocess.run([sys.executable, "train.py", *shlex.split(target)], check=True)
    return out


def scores(policy: Policy) -> dict[str, dict[str, float]]:
    """Mean RMSE per prior and way to query, on the same functions."""
    params, config = policy.params, policy.config
    assert isinstance(config, PolicyConfig)
    table = {}
    for prior in PRIORS:
        problem = simulated.draw_functions(PRIORS[prior], config, FUNCTIONS, seed=1)
        queries = {
            "random": simulated.random_queries(problem),
            "sobol": simulated.sobol_queries(problem),
            "GP AL, theta known": simulated.greedy_queries(problem),
            "this policy, blind": simulated.policy_queries(problem, params, config, blind=True),
            "this policy": simulated.policy_queries(problem, params, config),
        }
        table[prior] = {name: float(np.mean(simulated.rmse(problem, x))) for name, x in queries.items()}
    return table


def card(name: str, recipe: str, out: Path, policy: Policy) -> str:
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
    return f"""# {name}: the paper's network trained on {kind}, for comparison

- {size}; network `{config.policy.network}`
- prior `paper`, objective {kind}, seed {config.seed}
- {work}; {machine}
- made with `python train.py {recipe}`

RMSE of the posterior with the true theta after T queries, mean over {FUNCTIONS} simulated functions of each:

| queries | {" | ".join(PRIORS)} |
|---|{"---|" * len(PRIORS)}
{rows}

Limits: inputs scaled to the unit cube, outputs to zero mean and unit variance (`alx.Learner` does both);
more than T queries were not trained.
"""


def make(name: str, recipe: str) -> None:
    """Train one policy and put it in its place."""
    out = train(name, recipe)
    policy = store.load(out / "policy.safetensors")
    text = card(name, recipe, out, policy)
    shutil.copyfile(out / "policy.safetensors", policies.FOLDER / f"{name}.safetensors")
    (policies.FOLDER / f"{name}.md").write_text(text, encoding="utf-8")
    print(text)


def main(names: tyro.conf.Positional[tuple[str, ...]] = ()) -> int:
    """Make the named policies, or all of them."""
    known = recipes()
    unknown = [name for name in names if name not in known]
    if unknown:
        print(
            f"benchmarks.policies.make: no policy {unknown[0]!r}; there are {', '.join(known)}",
            file=sys.stderr,
        )
        return 2
    jax.config.update("jax_num_cpu_devices", os.cpu_count() or 1)
    cache.enable()
    for name in names or known:
        make(name, known[name])
    return 0


if __name__ == "__main__":
    sys.exit(tyro.cli(main))
