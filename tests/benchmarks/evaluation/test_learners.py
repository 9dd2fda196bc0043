import numpy as np
import pytest

import alx
from benchmarks.evaluation import learners, protocol, tasks


@pytest.fixture(scope="module")
def branin():
    return tasks.TASKS["branin"](None)


@pytest.mark.parametrize("given", [0, 2])
def test_a_learner_in_the_users_units_gives_the_same_points(branin, policies, given):
    """The loop of the README by hand, from the same given points and with the same noise."""
    method = learners.method("learner", policies[2], given)
    x, y = protocol.queries(branin, method, [3, 4, 5, 6, 7], 3)
    for i in (0, 2):
        learner = alx.Learner(policies[2], bounds=[(-5, 10), (0, 15)], budget=4)
        raw, outputs = branin.units.x(x[i]), branin.units.y(y[i])
        if given:
            learner.tell(raw[:given], outputs[:given])
        for point, output in zip(raw[given:], outputs[given:], strict=True):
            np.testing.assert_allclose(learner.ask(), point, atol=1e-5)
            learner.tell(point, output)


def test_what_is_given_begins_with_the_point_that_all_start_from(branin, policies):
    many, one = (
        protocol.queries(branin, learners.method("learner", policies[2], given), range(5), 3)
        for given in (3, 1)
    )
    np.testing.assert_array_equal(many[0][:, 0], one[0][:, 0])
    np.testing.assert_array_equal(many[1][:, 0], one[1][:, 0])


def test_only_what_it_chose_is_timed(policies):
    task = tasks.TASKS["airline"](None)
    rows = {n: protocol.run(task, learners.method("l", policies[1], n), [0], 3)[0] for n in (0, 3)}
    assert {n: len(row["query_seconds"]) for n, row in rows.items()} == {0: 4, 3: 1}
    assert all(len({x[0] for x in row["x"]}) == 4 for row in rows.values())
    assert rows[0]["fingerprint"] != rows[3]["fingerprint"]
