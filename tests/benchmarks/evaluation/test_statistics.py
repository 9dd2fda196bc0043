import numpy as np
import pytest

from benchmarks.evaluation.statistics import p_below, standard_error, summary


def rows(**finals):
    return [
        {"task": "sin", "method": m.replace("_", "-"), "seed": i, "rmse": [9.0, v]}
        | {"query_seconds": [0.25, 0.75], "compile_seconds": 3.0}
        for m, values in finals.items()
        for i, v in enumerate(values)
    ]


def test_five_wins_of_five_are_just_significant():
    """Of the 32 equally likely sign patterns only one is as extreme."""
    steps = np.arange(1.0, 6.0)
    assert p_below(steps, 2 * steps) == pytest.approx(1 / 32)
    assert p_below(2 * steps, steps) == pytest.approx(1)
    assert p_below(steps[:4], 2 * steps[:4]) == pytest.approx(1 / 16)


def test_equal_results_are_not_significant():
    assert p_below(np.ones(5), np.ones(5)) == 1


def test_standard_error_of_the_mean():
    assert standard_error(np.array([1.0, 3.0])) == pytest.approx(1)
    assert standard_error(np.array([2.0])) == 0


def test_a_summary_compares_the_same_seeds():
    table = rows(random=[1, 2, 3, 4, 5], gp_al=[0.9, 1.7, 2.5, 3.9, 5.5], mine=[0.5, 1.4, 2.2, 3.1, 4.0])
    mine = summary(table, "sin", "mine")
    assert (mine.mean, mine.median, mine.seeds) == (pytest.approx(2.24), 2.2, 5)
    assert mine.error == pytest.approx(np.std([0.5, 1.4, 2.2, 3.1, 4.0], ddof=1) / np.sqrt(5))
    assert mine.p_random == pytest.approx(1 / 32)
    assert mine.marks == "*†"
    assert (mine.query_ms, mine.compile_s) == (1000, 3)
    random = summary(table, "sin", "random")
    assert random.p_random is None
    assert random.marks == ""


def test_seeds_that_were_not_timed_do_not_count_as_fast():
    table = rows(mine=[1, 2, 3])
    for row in table[1:]:
        row["query_seconds"] = []
    assert summary(table, "sin", "mine").query_ms == 1000


def test_pairing_is_by_seed_and_not_by_order():
    """Random lacks seed 0: four pairs are left, and in each of them mine is below."""
    table = rows(random=[9, 2, 3, 4, 5], mine=[0.9, 1.8, 2.7, 3.6, 4.5])
    assert summary(table[:0:-1], "sin", "mine").p_random == pytest.approx(1 / 16)


def test_without_the_rival_there_is_no_mark():
    alone = summary(rows(mine=[1, 2, 3, 4, 5]), "sin", "mine")
    assert (alone.p_random, alone.p_gp_al, alone.marks) == (None, None, "")
