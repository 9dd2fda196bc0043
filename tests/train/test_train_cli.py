"""The command line of train.py: what it makes of its arguments, and errors of one line."""

import dataclasses
import re
import shlex
import sys
from pathlib import Path

import numpyro.distributions as dist
import pytest
import small_networks

from alx.network.policy import PolicyConfig
from alx.train import cli, general_config, run
from alx.train import config as presets
from alx.train.config import TrainConfig
from alx.train.prior import PRIORS, LogUniform, Prior
from alx.train.simulate import Batch
from alx.train.trainer import RolloutTrainer
from benchmarks import policies

DAD = policies.find("paper-dad-dim1-T10")


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Call main() in this process, where the devices are set up already, in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "start_devices", lambda *_: None)
    monkeypatch.setattr(run, "train", lambda *_: pytest.fail("it started to train"))

    def main(*arguments) -> str:
        monkeypatch.setattr(sys, "argv", ["train.py", *map(str, arguments)])
        try:
            code, boxed = cli.main(), False
        except SystemExit as stop:  # what tyro finds, it says in a box
            code, boxed = stop.code, True
        assert code == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert boxed or printed.err.startswith("train.py: ")
        assert boxed or printed.err.count("\n") == 1
        assert "Traceback" not in printed.err
        return " ".join(re.sub(r"[│─╭╮╰╯]", " ", printed.err).split())

    return main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--dim 0 --T 5", "dim must be a whole number of at least 1"),
        ("--dim 1 --T 0", "T must be a whole number of at least 1"),
        ("--dim 1", "--dim and --T are needed"),
        ("--dim 1 --T 5 --network deep", "network must be one of judge, paper, or module:name, got 'deep'"),
        (
            "--dim 1 --T 5 --network json:loads",
            "network must be paper, or module:name of a class of nnx.Module",
        ),
        ("--dim 1 --T 5 --n-init -1", "n_init must be"),
        ("--dim 1 --T 5 --network paper --objective luck", "got 'luck'"),
        (
            "--dim 1 --T 5 --objective dad",
            "the general policy has an objective of its own: add --network paper",
        ),
        ("--dim 1 --T 5 --prior flat", "got 'flat'"),
        ("--dim 1 --T 5 --network paper --objective dad --myopic", "myopic training has no objective dad"),
        ("--dim 1 --T 5 --steps=-1", "steps must be at least 0"),
        ("--dim 1 --T 5 --steps 0 --deviation-steps 0", "must not both be 0"),
        ("--dim 1 --T 5 --chunk 0", "chunk must be at least 1"),
        ("--dim 1 --T 5 --lr -1", "lr must be a positive number"),
        ("--dim 1 --T 5 --network paper --bound 0", "bound must be a positive number, got 0"),
        ("--dim 1 --T 5 --seed -1", "seed must be"),
        ("--dim 1 --T 5 --seeds 0", "--seeds must be at least 1"),
        ("--dim 1 --T 5 --network paper --batch 4 0 1", "batch must be"),
        (
            "--dim 1 --T 5 --lengthscale 2 1",
            "--lengthscale: LogUniform takes LOW HIGH with 0 < LOW <= HIGH, got 2 1",
        ),
        ("--dim 1 --T 5 --lengthscale Normal 0 1", "lengthscale must be a distribution of positive numbers"),
        ("--dim 1 --T 5 --lengthscale Flat 0 1", "'Flat' is not a distribution of numpyro"),
        ("--dim 1 --T 5 --lengthscale Uniform 1 2 3", "Uniform does not take the numbers 1 2 3"),
        ("--dim 1 --T 5 --kernels cubic", "kernels must be one of rbf, matern32, matern52, or module:name"),
        (
            "--dim 1 --T 5 --network paper --objective nowhere:loss",
            "objective 'nowhere:loss' cannot be found: No module named",
        ),
        (
            "--dim 1 --T 5 --network paper --objective os:name",
            "objective must be a function, got 'os:name'",
        ),
        ("--dim 1 --T 5 --prior os:name", "prior 'os:name' must be an alx.train.prior.Prior"),
        ("--dim 1 --T 5 --warped 2", "warped must be a share between 0 and 1, got 2"),
        ("--dim 1 --T 5 --start nowhere", "neither a policy file nor a shipped policy 'nowhere'"),
        (f"--dim 2 --T 5 --start {DAD}", "is of PolicyConfig(dim=1,"),
        ("--dim 1 --T 5 --network paper --start general", "its weights cannot start PolicyConfig(dim=1,"),
        ("--resume nowhere", "is not a run"),
    ],
)
def test_a_wrong_argument_is_one_line_and_leaves_nothing(call, tmp_path, arguments, message):
    assert message in call(*arguments.split())
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_exists_is_left_alone(call, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/note").write_text("mine")
    message = call("--dim", 1, "--T", 5, "--out", "run")
    assert "--out run exists already" in message
    assert "--resume run" in message
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["note"]


def test_a_directory_that_cannot_be_made_is_named(call, tmp_path):
    (tmp_path / "file").write_text("mine")
    assert "--out file/run cannot be written: Not a directory" in call(
        "--dim", 1, "--T", 5, "--out", "file/run"
    )
    assert "cannot be written: File name too long" in call("--dim", 1, "--T", 5, "--out", "x" * 300)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "--steps 70",
            "otherwise, make a new run with --start run/policy.safetensors",
        ),
        ("--lr 0.5 --dim 2", "dim was 1 and is 2; lr was 0.01 and is 0.5"),
        ("--seed 0", "seed was 7 and is 0"),
        ("--n-init 1", "n_init was 2 and is 1"),
        ("--seeds 3", "seeds was 1 and is 3"),
        ("--prior wide", "the prior was not wide"),
        ("--paper", "--paper is for new runs"),
        ("--lengthscale 0.1 1", "lengthscale was {"),
        ("--out other", "name two directories"),
    ],
)
def test_resuming_with_another_config_shows_the_difference(call, tmp_path, arguments, message):
    config = TrainConfig(PolicyConfig(1, 5, n_init=2), steps=60, seed=7, lr=0.01)
    run.create(tmp_path / "run", RolloutTrainer(config), "python train.py")
    before = (tmp_path / "run/config.json").read_bytes()
    assert message in call("--resume", "run", *arguments.split())
    assert (tmp_path / "run/config.json").read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    ["--dim two --T 5", "--dim 1 --T 5 --network paper --batch 4", "--dim 1 --T 5 --nonsense"],
)
def test_what_cannot_be_parsed_exits_with_2(monkeypatch, capsys, arguments):
    monkeypatch.setattr(cli, "start_devices", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["train.py", *arguments.split()])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def parse(arguments: str) -> TrainConfig:
    return cli.parse(shlex.split(arguments)).config


@pytest.mark.parametrize(("dim", "T"), [(1, 10), (2, 20)])
def test_paper_is_the_papers_recipe(dim, T):
    asked = f"--dim {dim} --T {T} --paper"
    paper = TrainConfig(
        PolicyConfig(dim, T, n_init=1, network="paper"),
        Prior(
            kernels=("rbf",),
            variance=dist.Uniform(0.505, 1),
            lengthscale=dist.Uniform(0.05, 1),
            noise_sd=None,
        ),
        objective="entropy",
        batch=Batch(25, 25, 10),
        steps=20_000,
        lr=1e-3,
        decay=0.98,
    )
    assert parse(asked) == paper == presets.paper(dim, T)
    regularized = dataclasses.replace(paper, objective="regularized-entropy", steps=10_000)
    assert parse(f"{asked} --objective regularized-entropy") == regularized
    myopic = dataclasses.replace(regularized, myopic=True, batch=Batch(250, 5, 5))
    assert parse(f"{asked} --objective regularized-entropy --myopic") == myopic
    assert parse(f"{asked} --objective dad --seed 3") == dataclasses.replace(paper, objective="dad", seed=3)


def test_the_defaults_depend_on_what_is_chosen_and_give_way_to_what_is_given():
    assert parse("--dim 2 --T 20 --network paper") == presets.default(2, 20)
    assert parse("--dim 2 --T 20 --network paper --steps 7") == presets.default(2, 20, steps=7)
    assert parse("--dim 2 --T 20 --network paper").prior == PRIORS["paper"]
    assert parse("--dim 2 --T 20 --network paper --prior wide").prior == PRIORS["wide"]
    assert (
        parse("--dim 2 --T 20 --network judge")
        == general_config.default((2,), (20,))
        == parse("--dim 2 --T 20")
    )


def test_every_field_of_the_prior_can_be_given():
    given = "--lengthscale 0.1 2 --noise-sd LogNormal -1 1 --variance Uniform 0.5 1.5 --kernels matern32 rbf"
    expected = dataclasses.replace(
        PRIORS["unit"],
        kernels=("matern32", "rbf"),
        lengthscale=LogUniform(0.1, 2.0),
        noise_sd=dist.LogNormal(-1.0, 1.0),
        variance=dist.Uniform(0.5, 1.5),
        modulated=0.1,
        warped=0.0,
        oscillating=0.2,
        standardised=False,
    )
    shares = "--modulated 0.1 --warped 0 --oscillating 0.2 --no-standardised"
    assert parse(f"--dim 1 --T 5 {given} {shares}").prior == expected


MODULE = """
import numpyro.distributions as dist
import tinygp
from alx.train.prior import Prior

PRIOR = Prior(lengthscale=dist.LogNormal(-1, 1), warped=0.5)
KERNEL = tinygp.kernels.RationalQuadratic(alpha=1.0)

def loss(key, prior, simulation, trajectory):
    return trajectory.y.sum(0)
"""


def test_what_a_user_wrote_is_taken_by_module_and_name_and_found_again(tmp_path, monkeypatch):
    (tmp_path / "written_by_a_user.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    mine = "written_by_a_user"
    config = parse(
        f"--dim 1 --T 3 --network paper --objective {mine}:loss --prior {mine}:PRIOR "
        f"--kernels rbf {mine}:KERNEL"
    )
    import written_by_a_user

    assert config.loss is written_by_a_user.loss
    assert config.prior == dataclasses.replace(written_by_a_user.PRIOR, kernels=("rbf", f"{mine}:KERNEL"))
    run.create(tmp_path / "run", RolloutTrainer(config), "python train.py")
    assert run.read(tmp_path / "run").trainer.config == config
    passed = dataclasses.replace(config, objective=written_by_a_user.loss)
    assert passed.to_json() == config.to_json()
    local = dataclasses.replace(config, objective=lambda *_: 0)
    with pytest.raises(
        ValueError, match=r"objective <function .* cannot be written to a file; define it at the top"
    ):
        run.create(tmp_path / "other", RolloutTrainer(local), "python train.py")
    assert not (tmp_path / "other").exists()


def test_a_policy_that_no_task_of_the_suite_fits_is_used_otherwise():
    hint = {n: cli.next_command(Path("p"), presets.default(*n)) for n in ((1, 10), (2, 5), (4, 40))}
    assert hint[1, 10] == "python evaluate.py --suite paper-1d --policy p"
    assert hint[2, 5] == "python evaluate.py --suite paper-2d --policy p --budget 5"
    assert hint[4, 40] == "python -m alx propose POINTS.csv --policy p"
    own = presets.default(1, 10, network=small_networks.SUMS)
    assert cli.next_command(Path("p"), own) == (
        'in Python: import alx, small_networks; policy = alx.load("p")'
    )
    for dims in ((1,), (2,), (1, 6)):
        assert cli.next_command(Path("p"), general_config.default(dims, (5,))) == hint[4, 40]


def test_the_command_is_the_one_that_was_typed_but_for_the_directory():
    words = ["--dim", "1", "--out", "a b", "--T", "3", "--out=c", "--prior", "m:P Q"]
    assert cli.command(words) == "python train.py --dim 1 --T 3 --prior 'm:P Q'"
