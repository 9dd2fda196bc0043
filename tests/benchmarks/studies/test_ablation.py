"""The ablation: which policies belong together."""

from types import SimpleNamespace

from benchmarks.studies.ablation import groups


def record(objective: str, dim: int = 1, myopic: bool = False) -> dict:
    return {"config": {"dim": dim}, "objective": objective, "training": {"myopic": myopic}}


def test_seeds_of_one_objective_are_a_group_and_single_queries_another():
    records = {
        "a": record("entropy"),
        "b": record("entropy"),
        "c": record("entropy", myopic=True),
        "d": record("dad"),
        "e": record("dad", dim=2),
    }
    evaluation = SimpleNamespace(records=records)
    assert groups(evaluation, 1) == {"entropy": ["a", "b"], "myopic entropy": ["c"], "dad": ["d"]}
    assert groups(evaluation, 2) == {}, "no objective has several seeds"
