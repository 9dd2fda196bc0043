"""The study of regimes: experiments are paired, methods choose what they say, rows resume, tables add up."""

import sys

import numpy as np
import pytest

import alx
from benchmarks import policies
from benchmarks.evaluation import acquisition
from benchmarks.evaluation.protocol import errors
from benchmarks.studies import regimes, regimes_methods, regimes_report, regimes_rows
from benchmarks.studies.families import draw
from benchmarks.studies.regimes_methods import REGIMES, RIVALS, Regime, State
from benchmarks.studies.regimes_rows import Experiment

SMALL = Regime(2, 2)


@pytest.fixture(scope="module")
def tasks():
    return draw("bumps", 2, 3, 0)


def _state(tasks, regime: Regime, filled: int) -> State:
    """As if uniform points had been measured."""
    random = np.random.default_rng(0)
    x, y = np.zeros((len(tasks), regime.size, 2)), np.zeros((len(tasks), regime.size))
    x[:, :filled], y[:, :filled] = random.random((len(tasks), filled, 2)), random.random((len(tasks), filled))
    return State([task.name for task in tasks], filled, x, y, regime)


def test_given_points_and_noise_are_the_same_whoever_chooses(tasks):
    runs = [regimes_methods.run(tasks, SMALL, RIVALS[name]) for name in ("sobol", "random")]
    (x, _), (x_other, _) = runs
    np.testing.assert_array_equal(x[:, :2], x_other[:, :2])
    assert not np.any(x[:, 2:] == x_other[:, 2:])
    noise = [y - np.stack([t.truth(own) for t, own in zip(tasks, x, strict=True)]) for x, y in runs]
    np.testing.assert_allclose(*noise, atol=1e-12)
    assert noise[0].std() == pytest.approx(0.1, rel=0.5)
    assert not np.allclose(noise[0][0], noise[0][1])


def test_what_is_random_depends_on_the_experiment_alone(tasks):
    """Not on what else is run, but on the regime."""
    for name in ("sobol", "random", "maximin"):
        together = regimes_methods.run(tasks, SMALL, RIVALS[name])[0]
        alone = regimes_methods.run(tasks[1:2], SMALL, RIVALS[name])[0]
        np.testing.assert_array_equal(together[1], alone[0])
        assert not np.any(regimes_methods.run(tasks, Regime(2, 3), RIVALS[name])[0][:, :4] == together)
        assert len(np.unique(together)) == together.size


def test_corner_points_lie_in_one_corner_cube_and_corners_differ():
    regime = REGIMES["corner-8:12"]
    corners = set()
    for i in range(40):
        x = regimes_methods.given_points(f"function-{i}", 2, regime)
        upper = x.mean(0) > 0.5
        assert x.shape == (8, 2)
        assert np.all(np.where(upper, 1 - x, x) <= regimes_methods.CORNER)
        corners.add(tuple(upper))
    assert len(corners) == 4
    spread = np.concatenate([regimes_methods.given_points(f"f-{i}", 2, REGIMES["8:12"]) for i in range(40)])
    np.testing.assert_allclose(spread.mean(0), 0.5, atol=0.06)


def test_sobol_goes_through_one_sequence(tasks):
    x, _ = regimes_methods.run(tasks, Regime(1, 8), RIVALS["sobol"])
    for size in (4, 8):  # of the first so many points every part of each input holds one
        for design in x[:, 1 : size + 1]:
            np.testing.assert_array_equal(np.sort(np.floor(size * design), 0).T, [range(size)] * 2)


def test_maximin_takes_the_candidate_farthest_from_all_points(tasks, monkeypatch):
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.9, 1.0]])
    monkeypatch.setattr(
        regimes_methods, "_candidates", lambda state, *_: np.broadcast_to(corners, (len(state.x), 4, 2))
    )
    state = _state(tasks, SMALL, 2)
    state.x[:, :2] = [[0.0, 0.1], [0.9, 0.2]]
    state.x[2, :2] = [[0.1, 0.9], [1.0, 1.0]]
    np.testing.assert_array_equal(RIVALS["maximin"](state), corners[[1, 1, 2]])
    np.testing.assert_array_equal(RIVALS["maximin"](state._replace(filled=0)), corners[[0, 0, 0]])


@pytest.mark.parametrize("filled", [0, 3])
def test_gp_al_is_the_acquisition_of_the_evaluation(tasks, filled):
    """Blocks and room change nothing: with as much room as there are points the same is chosen."""
    state = _state(tasks, Regime(2, 3), filled)
    chosen = RIVALS["gp-al-variance"](state)
    candidates = regimes_methods._candidates(state, "gp-al-variance", regimes_methods.CANDIDATES)
    mask = np.broadcast_to(np.arange(4) < filled, (3, 4))
    best = acquisition.select(
        acquisition.integrated_variance,
        *(np.resize(a, (5, *a.shape[1:])) for a in (state.x[:, :4], state.y[:, :4], mask, candidates)),
        np.ones((5, candidates.shape[1]), bool),
    )
    np.testing.assert_array_equal(chosen, candidates[np.arange(3), best[:3]])
    assert not np.array_equal(chosen, RIVALS["gp-al"](state))


def test_a_policy_sees_the_points_so_far_and_a_blind_one_only_where_they_are(tasks):
    policy = policies.load("paper-dad-dim2-T20")
    state = _state(tasks, SMALL, 2)
    expected = [
        alx.propose(policy, alx.History.from_arrays(x[:2], y[:2], SMALL.size))
        for x, y in zip(state.x, state.y, strict=True)
    ]
    np.testing.assert_allclose(regimes_methods.from_policy(policy)(state), expected, atol=1e-5)
    blind = regimes_methods.from_policy(policy, blind=True)
    np.testing.assert_array_equal(blind(state), blind(state._replace(y=-state.y)))
    assert not np.allclose(blind(state), expected)


def test_the_score_is_that_of_the_evaluation(tasks):
    """Each experiment is judged as `benchmarks.evaluation` judges it, on its own function."""
    x, y = regimes_methods.run(tasks, Regime(2, 2), RIVALS["random"])
    expected = [
        np.log(errors(task, np.resize(x[i], (5, 4, 2)), np.resize(y[i], (5, 4)), np.ones((5, 4), bool))[0])
        for i, task in enumerate(tasks)
    ]
    np.testing.assert_allclose(regimes_methods.log_rmse(tasks, x, y), expected, rtol=1e-6)


def test_cells_keep_unseen_families_to_two_and_three_inputs():
    cells = regimes.cells((2, 5), ("8:12", "0:8"), ("bumps", "kinks"))
    assert [(c.dim, c.regime, c.family) for c in cells] == [
        (2, "8:12", "bumps"),
        (2, "8:12", "kinks"),
        (2, "0:8", "bumps"),
        (2, "0:8", "kinks"),
        (5, "8:12", "bumps"),
        (5, "0:8", "bumps"),
    ]
    assert [len(regimes.experiments(c, 100)) for c in (cells[0], cells[-1])] == [100, 60]
    assert len(regimes.experiments(cells[0], 7)) == 7


def test_a_study_runs_what_the_file_lacks_and_nothing_twice(tmp_path, monkeypatch):
    asked = []

    def measure(cell, part, name, choose):
        asked.append((name, [e.function for e in part]))
        return {e: {name: e.function + 0.12345678} for e in part}

    monkeypatch.setattr(regimes, "_measure", measure)
    monkeypatch.setattr(regimes, "TOGETHER", 2)
    path, cell = tmp_path / "new" / "rows.csv", regimes.Cell(2, "8:12", "bumps")
    regimes.study(cell, {"sobol": RIVALS["sobol"]}, path, 3)
    regimes.study(cell, {"sobol": RIVALS["sobol"], "random": RIVALS["random"]}, path, 4)
    assert asked == [
        ("sobol", [0, 1]),
        ("sobol", [2]),
        ("sobol", [3]),
        ("random", [0, 1]),
        ("random", [2, 3]),
    ]
    rows = regimes_rows.read(path)
    assert rows[Experiment(2, "8:12", "bumps", 2)] == {"sobol": 2.1235, "random": 2.1235}
    regimes.study(cell, {"sobol": RIVALS["sobol"]}, path, 4)
    assert len(asked) == 5


def test_rows_of_several_processes_come_together(tmp_path):
    path, one, two = (
        tmp_path / "rows.csv",
        Experiment(2, "8:12", "bumps", 1),
        Experiment(1, "0:8", "kinks", 0),
    )
    regimes_rows.complete(path, {one: {"sobol": -1.5}})
    regimes_rows.complete(path, {two: {"random": 0.25}, one: {"random": 1.0}})
    assert path.read_text() == (
        "dim,regime,family,function,random,sobol\n1,0:8,kinks,0,0.2500,\n2,8:12,bumps,1,1.0000,-1.5000\n"
    )
    assert regimes_rows.missing(regimes_rows.read(path), [one, two], "sobol") == [two]


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "dim,regime,family,function,sobol\nx,8:12,bumps,0,1\n"])
def test_a_file_of_something_else_is_refused(tmp_path, text):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"rows\.csv holds no rows of this study"):
        regimes_rows.read(path)


def _rows(figures: dict[str, dict[str, np.ndarray]], dim: int = 2, regime: str = "8:12") -> regimes_rows.Rows:
    return {
        Experiment(dim, regime, family, i): {m: float(v[i]) for m, v in values.items()}
        for family, values in figures.items()
        for i in range(len(values["sobol"]))
    }


@pytest.fixture
def rows():
    random = np.random.default_rng(0)

    def family(size, gain):
        sobol = random.standard_normal(size)
        spread = {m: 0.01 * random.standard_normal(size) for m in ("alx", "gp-al")}
        return {"sobol": sobol, "alx": sobol - gain + spread["alx"], "gp-al": sobol - 0.1 + spread["gp-al"]}

    return _rows({"bumps": family(20, 0.4), "kinks": family(10, 0.2)})


def test_figures_are_means_over_families_of_paired_differences(rows):
    (situation,) = regimes_report.situations(rows)
    differences = {
        f: np.array([v["alx"] - v["sobol"] for e, v in rows.items() if e.family == f])
        for f in ("bumps", "kinks")
    }
    expected = np.mean([d.mean() for d in differences.values()])
    error = np.sqrt(sum(d.var(ddof=1) / len(d) for d in differences.values())) / 2
    gain = situation.gain("alx")
    assert (gain.value, gain.error) == pytest.approx((expected, error))
    assert situation.best_rival() == "gp-al"
    assert situation.p("alx", "gp-al") == pytest.approx(2.0**-30)
    assert situation.p("gp-al", "alx") == pytest.approx(1)


def test_a_method_that_lacks_functions_has_no_figure(rows):
    del rows[Experiment(2, "8:12", "kinks", 3)]["gp-al"]
    (situation,) = regimes_report.situations(rows)
    assert not situation.has("gp-al")
    assert situation.best_rival() == "sobol"
    assert "GP AL" not in regimes_report.report(rows, ["alx", "sobol", "gp-al"])


def test_the_report_holds_all_tables(rows):
    worse = {e._replace(dim=5, regime="1:10"): v | {"alx": v["gp-al"] + 0.01} for e, v in rows.items()}
    level = {
        e._replace(dim=5, regime="8:12"): v | {"alx": v["gp-al"] + (0.02 if e.function % 2 else -0.018)}
        for e, v in rows.items()
    }
    text = regimes_report.report(rows | worse | level, ["alx", "sobol", "gp-al"])
    own, *others = regimes_report.situations(rows | worse | level)
    assert [(s.dim, s.regime) for s in (own, *others)] == [(2, "8:12"), (5, "1:10"), (5, "8:12")]
    assert f"| 2 | 8:12 | 30 | {own.gain('alx')} | {own.gain('gp-al')} |" in text
    less = regimes_report.average(own.less("alx", "gp-al"))
    assert f"| 2 | 8:12 | GP AL | {less} | 9e-10 |  |  |" in text
    mean = (less.value + 0.01 + 0.001) / 3
    assert (
        "each of 3 situations: ahead in 1, within one standard error or ahead in 2; "
        f"{mean:+.3f} on average." in text
    )
    gains = f"{own.gain('alx').value:+.2f} ({own.gain('gp-al').value:+.2f})"
    assert text.splitlines()[-4:-1] == ["| D | 1:10 | 8:12 |", "|---|---:|---:|", f"| 2 |  | {gains} |"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dims", "4"], "--dims must be some of 1, 2, 3, 5, 6, 8, got 4"),
        (["--regimes", "2:2"], "--regimes must be some of 0:8, 1:10"),
        (["--families", "lines"], "--families must be some of polynomials"),
        (["--methods", "luck"], "--methods must be some of alx, untrained, blind, sobol"),
        (["--functions", "1"], "--functions must be at least 2 for a standard error, got 1"),
        (["--policy", "nothing"], "nothing"),
    ],
)
def test_what_cannot_be_studied_is_refused(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["regimes", *arguments])
    assert regimes.main() == 2
    assert message in capsys.readouterr().err


def test_the_command_completes_files_and_prints(tmp_path, monkeypatch, capsys):
    """With a policy: its rows in a directory of its own, the rivals' beside the study, one report."""
    monkeypatch.setattr(regimes, "RIVALS_FILE", tmp_path / "rivals.csv")
    monkeypatch.setattr(regimes, "log_rmse", lambda tasks, x, y: np.log(x.sum((1, 2))))
    options = "--dims 2 --regimes 0:8 --families bumps --functions 2 --methods alx blind sobol random"
    own = ["--policy", str(policies.find("paper-dad-dim2-T20")), "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["r", *options.split(), *own])
    assert regimes.main() == 0
    text = capsys.readouterr().out
    assert "| D | given:queries | functions | alx | alx, blind (y = 0) | Random |" in text
    assert "In short" in text
    assert [len(regimes_rows.read(tmp_path / name)) for name in ("rivals.csv", "rows.csv")] == [2, 2]
