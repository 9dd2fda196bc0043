"""What the server holds is bounded, whatever it has served."""

import gc
import tracemalloc

import jax
import pytest

import alx
from alx.learner.compiled import room_for
from alx.serve import store, warm

PLANE = [{"name": "a", "low": 0, "high": 1}, {"name": "b", "low": 0, "high": 1}]


def in_memory(server):
    return [each for each in server.store._experiments.values() if each.learner is not None]


def whole(server, requests=40):
    """An experiment from its first point to its last, and one question too many."""
    path = server.new()
    for i in range(requests):
        server("POST", path + "/forget", {}, key=f"{i}")
    for number in range(8):
        (x,) = server("POST", path + "/ask", {})["x"]
        server("POST", path + "/tell", {"x": x, "y": number}, key=f"tell {number}")
    server("POST", path + "/ask", {}, status=400)
    return path


@pytest.fixture
def _no_collection():
    """Python looks for cycles seldom: arrays that are held until then count as held."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def arrays():
    return sum(each.nbytes for each in jax.live_arrays())


@pytest.mark.usefixtures("_no_collection")
def test_what_is_over_takes_no_memory(server):
    whole(server)  # compiles
    before = arrays()
    tracemalloc.start()
    for _ in range(3):
        whole(server)
    assert arrays() == before
    gc.collect()  # connections
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held / 3 < 35_000
    assert not in_memory(server)


def test_what_is_over_is_a_file_and_is_read_again(server):
    path = whole(server)
    directory = server.directory / path[1:]
    (file,) = directory.glob("learner-*.alx")
    assert alx.Learner.load(file).y.tolist() == list(range(8))
    assert server("POST", path + "/tell", {"x": [0.5], "y": 9}, status=400, key="new")["error"]
    state = server("GET", path)
    assert (state["told"], state["remaining"]) == (8, 0)
    x = state["points"][3]["x"]
    again = server("POST", path + "/tell", {"x": x, "y": 3}, key="tell 3")
    assert again["told"] == 4  # the first answer
    server("POST", path + "/extend", {"n": 1})
    server("POST", path + "/ask", {})
    assert len(in_memory(server)) == 1


def test_so_many_bytes_of_experiments_stay_in_memory(server, monkeypatch):
    each = store.BESIDES + room_for(8, 1)
    monkeypatch.setattr(store, "IN_MEMORY", 3 * each)
    paths = [server.new() for _ in range(5)]
    for number, path in enumerate(paths * 2):
        server("POST", path + "/tell", {"x": [0.1 * number], "y": number})
        assert len(in_memory(server)) <= 3
    assert [server("GET", path)["told"] for path in paths] == [2] * 5
    assert len(in_memory(server)) == 3


def test_a_belief_is_as_large_as_it_is_said_to_be():
    for bounds, budget in (([(0, 1)], 20), ([(0, 1)] * 2, 60)):
        learner = alx.Learner(bounds=bounds, budget=budget)
        learner.ask()
        (one,) = learner._beliefs or []
        assert one.belief.whitening.nbytes == room_for(budget, len(bounds))


def test_so_many_shapes_stay_compiled(server, monkeypatch):
    cleared = []
    monkeypatch.setattr(store, "SHAPES", 2)
    monkeypatch.setattr(warm.jax, "clear_caches", lambda: cleared.append(len(server.store._warm)))
    for budget in (8, 16, 24, 8, 32, 40):
        server.new(budget=budget)
        assert len(server.store._warm) <= 2 * len(warm.WARM)
    assert len(cleared) == 2


@pytest.mark.parametrize("answered", [False, True])
def test_what_was_answered_is_only_in_memory_with_its_learner(answered, serve):
    server = serve()
    path = server.new(inputs=PLANE)
    server("POST", path + "/tell", {"x": [0.5, 0.5], "y": 1}, key="k" if answered else None)
    server.stop()
    server = serve()
    (one,) = server.store._experiments.values()
    assert "answered" not in one.head
    assert not one._answered
    server("GET", path)
    assert list(one._answered) == ["k"] * answered
    one.close()
    assert not one._answered
