import numpy as np
import pytest
from scipy import stats

from benchmarks.evaluation.comparison import best_rival, difference, rivals, verdict

SHAKE = np.array([0.01, -0.02, 0.015, -0.005, 0.0, 0.012])


def rows(task, **finals):
    return [
        {"task": task, "method": name.replace("_", "-"), "seed": i, "rmse": [9.0, v]}
        for name, values in finals.items()
        for i, v in enumerate(values)
    ]


def test_the_interval_is_student_s_of_the_paired_differences():
    ours, theirs = 0.5 + SHAKE, 0.6 + SHAKE[::-1]
    found = difference(rows("a", alx=ours, gp_al=theirs), "a", "alx", "gp-al")
    gap = ours - theirs
    half = stats.t.ppf(0.975, 5) * gap.std(ddof=1) / np.sqrt(6)
    expected = np.array([gap.mean(), gap.mean() - half, gap.mean() + half]) / theirs.mean()
    np.testing.assert_allclose([found.mean, found.low, found.high], expected, rtol=1e-12)
    assert (found.sign, found.seeds) == (-1, 6)


def test_few_or_equal_seeds_have_no_spread():
    one = difference(rows("a", alx=[0.5], gp_al=[1.0]), "a", "alx", "gp-al")
    assert (one.mean, one.low, one.high, one.sign) == (-0.5, -np.inf, np.inf, 0)
    same = difference(rows("a", alx=SHAKE + 1, gp_al=SHAKE + 1), "a", "alx", "gp-al")
    assert (same.mean, same.low, same.high, same.sign) == (0, 0, 0, 0)
    assert difference(rows("a", alx=[1.0]), "a", "alx", "gp-al") is None


def test_the_same_policy_in_other_circumstances_is_no_rival():
    methods = ["alx", "learner", "learner-8", "gp-al", "random"]
    assert rivals(methods, "alx") == ["gp-al", "random"]
    assert rivals(["mine", *methods], "mine") == methods


def test_the_best_rival_has_the_lowest_mean():
    table = rows("a", alx=0.5 + SHAKE, learner=0.1 + SHAKE, gp_al=0.9 - SHAKE, random=0.6 - SHAKE)
    assert best_rival(table, "a", "alx", ["alx", "learner", "gp-al", "random"]).rival == "random"


METHODS = ["alx", "gp-al", "random"]
WIN = rows("easy", alx=0.5 + SHAKE, gp_al=1.0 - SHAKE, random=2.0 + 0 * SHAKE)
LOSS = rows("hard", alx=1.2 + SHAKE, gp_al=1.0 - SHAKE, random=2.0 + 0 * SHAKE)
LEVEL = rows("even", alx=1.0 + SHAKE, gp_al=1.03 - 5 * SHAKE, random=2.0 + 0 * SHAKE)


@pytest.mark.parametrize(
    ("table", "tasks", "score", "says"),
    [
        (
            WIN,
            ["easy"],
            "wins 1, loses 0 and leaves 0 undecided",
            "it has a lower RMSE than every rival on easy (50 % below GP AL [",
        ),
        (
            LOSS,
            ["hard"],
            "wins 0, loses 1 and leaves 0 undecided",
            "it is beaten on hard (20 % above GP AL [+",
        ),
        (
            LEVEL,
            ["even"],
            "wins 0, loses 0 and leaves 1 undecided",
            "it does not differ for certain from the best rival on even (2 % below GP AL [",
        ),
    ],
)
def test_the_verdict_says_who_wins_by_how_much_and_how_sure(table, tasks, score, says):
    text = verdict(table, tasks, METHODS)
    assert text.startswith(f"Against the best rival of each of 1 task, alx (known scale) {score}: {says}")
    assert text.endswith("(mean of 6 paired seeds; in brackets its 95 % interval).")
    assert text.count(". ") == 0, "one sentence"


def test_a_verdict_over_several_tasks_names_each_once():
    text = verdict(WIN + LOSS + LEVEL, ["easy", "hard", "even"], METHODS)
    assert "3 tasks, alx (known scale) wins 1, loses 1 and leaves 1 undecided" in text
    parts = text.split("; ")
    assert "than every rival on easy" in parts[0]
    assert parts[1].startswith("it is beaten on hard")
    assert parts[2].startswith("and it does not differ for certain from the best rival on even")


def test_the_brackets_hold_the_interval():
    low, high = (100 * getattr(difference(WIN, "easy", "alx", "gp-al"), end) for end in ("low", "high"))
    assert f"[{low:+.0f} to {high:+.0f}]".replace("-", "\N{MINUS SIGN}") in verdict(WIN, ["easy"], METHODS)


def test_one_seed_leaves_everything_open_and_no_rival_is_said():
    one = [row for row in WIN if row["seed"] == 0]
    text = verdict(one, ["easy"], METHODS)
    assert "leaves 1 undecided" in text
    assert "[unknown]" in text
    assert "mean of 1 paired seed;" in text
    assert verdict(WIN, ["easy"], ["alx"]) == (
        "alx (known scale) was run without a rival, so there is nothing to compare."
    )
