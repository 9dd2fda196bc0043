"""What the server answers: the learner's own numbers, once, and sentences for all that is wrong."""

import http.client
import json
import threading

import jsonschema
import numpy as np
import pytest
from live import LINE

import alx
from alx.serve import experiment, openapi, shapes
from alx.serve.app import ENDPOINTS


def f(x):
    return float(np.sin(7 * x))


def test_an_experiment_over_http_is_that_of_a_learner(server):
    path = server.new(goal={"error": 1e9})
    own = alx.Learner(bounds=[(0, 1)], budget=8)
    for _ in range(4):
        (x,) = server("POST", path + "/ask", {})["x"]
        assert x == own.ask().tolist()
        server("POST", path + "/tell", {"x": x, "y": f(x[0])})
        own.tell(x, f(x[0]))
    assert server("GET", path + "/next")["x"] == own.peek().tolist()
    assert len(own.pending) == 0
    found = server("POST", path + "/predict", {"x": [[0.1], [0.7]], "level": 0.8})
    mean, sd = own.predict([[0.1], [0.7]])
    np.testing.assert_allclose([found["mean"], found["sd"]], [mean, sd])
    np.testing.assert_allclose([found["low"], found["high"]], own.interval([[0.1], [0.7]], 0.8))
    error = server("GET", path + "/error")
    np.testing.assert_allclose(error["rmse"][0], own.error().rmse)
    assert error["reached"]
    curve = server("GET", path + "/curve")["outputs"][0]
    assert curve["points"] == [2, 3, 4]
    np.testing.assert_allclose(curve["rmse"][-1], own.error().rmse, rtol=1e-4)
    (model,) = server("GET", path + "/model")["outputs"]
    np.testing.assert_allclose(model["effect"], [1 / each for each in model["lengthscales"]])
    state = server("GET", path)
    assert [point["y"] for point in state["points"]] == own.y.tolist()
    assert (state["told"], state["remaining"], state["version"]) == (4, 4, 8)


def test_fail_forget_extend_and_several_outputs(server):
    path = server.new(outputs=[{"name": "a"}, {"name": "b", "unit": "V", "weight": 2}], budget=3)
    first, second = server("POST", path + "/ask", {"n": 2})["x"]
    server("POST", path + "/fail", {"x": first})
    assert server("POST", path + "/forget", {"x": second})["waiting"] == 0
    server("POST", path + "/tell", {"x": [0.4], "y": [1, None]})
    state = server("GET", path)
    assert state["points"] == [{"x": first, "y": [None, None]}, {"x": [0.4], "y": [1.0, None]}]
    assert (state["failed"], state["remaining"]) == (1, 1)
    assert server("POST", path + "/extend", {"n": 2})["remaining"] == 3
    assert server("GET", path + "/error")["rmse"] == [None, None]
    assert "before each output" in server("GET", path + "/model", status=400)["error"]


def test_whole_numbers_and_choices_stay_what_they_are(serve):
    server = serve()
    inputs = [{"name": "n", "kind": "integer", "low": 1, "high": 3}]
    inputs += [{"name": "c", "kind": "choice", "levels": ["p", 2]}]
    path = server.new(inputs=inputs)
    for x in ([2, "p"], [3, 2]):
        server("POST", path + "/tell", {"x": x, "y": 1})
    server("POST", path + "/fail", {"x": [1, 2]})
    server.kill()
    points = serve()("GET", path)["points"]
    assert points == [{"x": x, "y": y} for x, y in (([2, "p"], 1.0), ([3, 2], 1.0), ([1, 2], None))]


def test_a_constraint_holds(server):
    path = server.new(constraints=[{"coefficients": {"x": -2}, "at_most": -1.8}])
    assert min(server("POST", path + "/ask", {"n": 3})["x"])[0] >= 0.9


def test_the_set_point_is_answered_by_what_was_met(server):
    path = server.new()
    (x,) = server("POST", path + "/ask", {})["x"]
    met = [x[0] * 0.9]
    assert server("POST", path + "/tell", {"x": met, "y": 1, "asked": x})["waiting"] == 0
    assert server("GET", path)["points"] == [{"x": met, "y": 1.0}]
    assert server("POST", path + "/tell", {"x": met, "y": 1})["told"] == 1
    assert server("POST", path + "/tell", {"x": met, "y": 1, "repeat": True})["told"] == 2


def test_a_table_comes_and_goes(server):
    path = server.new(outputs=[{"name": "y", "unit": "V"}])
    kind = {"Content-Type": "text/csv"}
    text = "x;y [V];who\n0,25;1,5;Ada\n0,5;;Kim\n"
    assert server.raw("POST", f"/v1/experiments{path}/csv", text, kind)[0] == 200
    status, headers, table = server.raw("GET", f"/v1/experiments{path}/csv")
    assert table == "x,y [V],who\n0.25,1.5,Ada\n0.5,,Kim\n"
    assert (status, headers["content-type"]) == (200, "text/csv; charset=utf-8")
    status, _, answer = server.raw("POST", f"/v1/experiments{path}/csv", "x,y\n0.1,1\n0.2,b\n", kind)
    assert (status, "line 3" in answer) == (400, True)
    assert server("GET", path)["told"] == 2


@pytest.mark.parametrize("compacted", [False, True])
def test_a_request_sent_twice_counts_once_even_after_a_crash(compacted, serve, monkeypatch):
    monkeypatch.setattr(experiment, "LONGEST", 1 if compacted else 500)
    server = serve()
    made = server("POST", "", LINE, key="make")
    path = "/" + made["id"]
    asked = server("POST", path + "/ask", {"n": 2}, key="a")
    told = server("POST", path + "/tell", {"x": [0.5], "y": 1, "repeat": True, "request_id": "t"})
    server.kill()
    server = serve()
    assert server("POST", "", LINE, key="make")["id"] == made["id"]
    assert len(server("GET", "")["experiments"]) == 1
    assert server("POST", path + "/ask", {"n": 2}, key="a") == asked
    again = {"x": [0.5], "y": 1, "repeat": True}
    assert server("POST", path + "/tell", again, key="t") == told
    assert server("GET", path)["told"] == 1
    assert "another request" in server("POST", path + "/tell", again | {"y": 2}, key="t", status=409)["error"]
    assert "another experiment" in server("POST", "", LINE | {"budget": 9}, key="make", status=409)["error"]
    sentence = server("POST", path + "/tell", again | {"request_id": "u"}, key="t", status=400)["error"]
    assert "differ" in sentence


@pytest.mark.parametrize("crash", [True, False])
def test_all_that_was_answered_is_there_after_a_restart(crash, serve):
    server = serve()
    path = server.new(goal={"error": 0.1}, constraints=[{"coefficients": {"x": -2}, "at_most": -0.2}])
    (x,) = server("POST", path + "/ask", {})["x"]
    server("POST", path + "/tell", {"x": x, "y": 0.1})
    server("POST", path + "/fail", {"x": [0.9]})
    server("POST", path + "/ask", {"n": 3})
    server("POST", path + "/extend", {"n": 1})
    before, following = server("GET", path), server("GET", path + "/next")
    server.kill() if crash else server.stop()
    (directory,) = [each for each in server.directory.iterdir() if each.is_dir()]
    if crash:  # in the middle of the next line
        with open(directory / "journal.jsonl", "ab") as file:
            file.write(b'{"change": "tell", "data": {"x": [0.3]')
    else:
        (file,) = directory.glob("learner-*.alx")
        assert len(alx.Learner.load(file, constraint=lambda x: x[:, 0] > 0).failed) == 1
    server = serve()
    assert server("GET", path) == before
    assert server("GET", path + "/next") == following
    server("POST", path + "/tell", {"x": [0.3], "y": 5})
    server.kill()
    assert serve()("GET", path)["points"][-1] == {"x": [0.3], "y": 5.0}


def test_what_the_disk_refuses_has_not_happened(server, monkeypatch):
    path = server.new()
    server("POST", path + "/tell", {"x": [0.5], "y": 1})
    with monkeypatch.context() as patch:
        patch.setattr("alx.serve.journal.os.fsync", lambda _: (_ for _ in ()).throw(OSError("full")))
        patch.setattr("alx.serve.journal.os.write", lambda handle, text: 3)
        for action, body in (("ask", {}), ("tell", {"x": [0.6], "y": 2})):
            sentence = server("POST", f"{path}/{action}", body, status=500)["error"]
            assert "full" not in sentence
    state = server("GET", path)
    assert (state["told"], state["waiting"], state["version"]) == (1, 0, 1)
    assert server("POST", path + "/tell", {"x": [0.6], "y": 2})["told"] == 2


def test_no_two_clients_get_the_same_point(server):
    path, found = server.new(), []

    def ask():
        found.append(server("POST", path + "/ask", {})["x"][0][0])

    work = [threading.Thread(target=ask) for _ in range(8)]
    for each in work:
        each.start()
    for each in work:
        each.join()
    assert len(set(found)) == 8
    assert "budget is spent" in server("POST", path + "/ask", {}, status=400)["error"]


def test_changes_are_pushed(server):
    path = server.new()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", "/v1/events")
    answer = connection.getresponse()
    assert answer.readline() == b"retry: 1000\n"
    server("POST", path + "/tell", {"x": [0.5], "y": 1})
    lines = [answer.readline().decode() for _ in range(3)]
    assert lines[1] == "event: change\n"
    assert json.loads(lines[2].removeprefix("data: ")) == {"experiment": path[1:], "version": 1}
    connection.close()


def test_delete_needs_the_id_again(server):
    path = server.new()
    for body in ({}, {"confirm": ""}, {"confirm": "yes"}):
        server("DELETE", path, body, status=400)
    assert server("DELETE", path, {"confirm": path[1:]}) == {"deleted": path[1:]}
    assert server("GET", path, status=404)["error"] == "there is no experiment of this id"
    assert not [each for each in server.directory.iterdir() if each.is_dir()]


X = LINE["inputs"][0]
REFUSED = {
    "no name": ("", {"inputs": LINE["inputs"]}, "the body lacks the field 'name'"),
    "an unknown field": ("", LINE | {"seed": 1}, "the body has no field 'seed'"),
    "bounds that are none": ("", LINE | {"inputs": [{"name": "x", "low": 1, "high": 0}]}, "low < high"),
    "an input without bounds": ("", LINE | {"inputs": [{"name": "x", "low": 1}]}, "'x' lacks 'high'"),
    "levels of a number": ("", LINE | {"inputs": [X | {"levels": [1, 2]}]}, "real and cannot have"),
    "two of one name": ("", LINE | {"inputs": LINE["inputs"] * 2}, "different names"),
    "a constraint on nothing": (
        "",
        LINE | {"constraints": [{"coefficients": {"z": 1}, "at_most": 0}]},
        "inputs that are numbers, got 'z'",
    ),
    "nothing allowed": (
        "",
        LINE | {"constraints": [{"coefficients": {"x": 1}, "at_most": -1}]},
        "the constraint allows 0 of",
    ),
    "a large budget": ("", LINE | {"budget": 257}, "budget must be between 1 and 256"),
    "a line break in a name": ("", LINE | {"name": "a\nb"}, "printable"),
    "too many at once": ("/ask", {"n": 300}, "n must be between 1 and 256"),
    "more than the budget": ("/ask", {"n": 9}, "the budget is spent"),
    "a point outside": ("/tell", {"x": [3], "y": 1}, "inside the bounds"),
    "two coordinates": ("/tell", {"x": [1, 2], "y": 1}, "one value for each of x, got 2"),
    "a text for a number": ("/tell", {"x": ["a"], "y": 1}, "x must be numbers"),
    "a text for y": ("/tell", {"x": [0.5], "y": "1"}, "y must be a number or null or a list, got '1'"),
    "two outputs": ("/tell", {"x": [0.5], "y": [1, 2]}, "y must be one number"),
    "not pending": ("/forget", {"x": [0.5]}, "not a pending point"),
    "true for a number": ("/extend", {"n": True}, "n must be a whole number, got True"),
    "too much budget": ("/extend", {"n": 256}, "at most 256 points here"),
    "a level of 2": ("/predict", {"x": [[0.5]], "level": 2}, "level must be between"),
    "a prediction of nothing": ("/predict", {"x": [[0.5]]}, "before its first measurement"),
    "places of two inputs": ("/predict", {"x": [[0.5, 1]]}, "1 values for each place, got 2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_a_sentence_and_changes_nothing(case, shared):
    server, path = shared
    where, body, sentence = REFUSED[case]
    before = server("GET", path), len(server("GET", "")["experiments"])
    error = server("POST", path + where if where else "", body, status=400)["error"]
    assert sentence in error
    assert "\n" not in error
    assert (server("GET", path), len(server("GET", "")["experiments"])) == before


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    from live import Live

    server = Live(tmp_path_factory.mktemp("shared"))
    yield server, server.new()
    server.stop()


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda each: each.name)
def test_every_address_of_the_document_answers_as_it_says(endpoint, server):
    document = openapi.document(ENDPOINTS)
    path = server.new()
    (x,) = server("POST", path + "/ask", {})["x"]
    server("POST", path + "/tell", {"x": x, "y": 1})
    server("POST", path + "/tell", {"x": [0.9], "y": 2})
    (x,) = server("POST", path + "/ask", {})["x"]
    bodies = {"create": LINE, "delete": {"confirm": path[1:]}, "predict": {"x": [[0.2]]}, "extend": {"n": 1}}
    bodies |= {"tell": {"x": x, "y": 1}, "fail": {"x": x}, "forget": {}, "ask": {}}
    operation = document["paths"][endpoint.path][endpoint.method.lower()]
    where = endpoint.path.replace("{id}", path[1:])
    if endpoint.name == "events":
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        connection.request("GET", where)
        status, kind = (answer := connection.getresponse()).status, answer.headers["content-type"]
        connection.close()
        text = ""
    else:
        table = endpoint.name == "tell_csv"
        body = "x,y\n0.3,4\n" if table else json.dumps(bodies[endpoint.name]) if endpoint.body else None
        sent = {"Content-Type": "text/csv" if table else "application/json"}
        status, headers, text = server.raw(endpoint.method, where, body, sent)
        kind = headers["content-type"]
    content = operation["responses"][str(status)]["content"]
    assert status == endpoint.status
    assert kind.split(";")[0] in content
    if "application/json" in content:
        schema = content["application/json"]["schema"]
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(json.loads(text), schema)
    if "{id}" in endpoint.path:
        missing = endpoint.path.replace("{id}", "0" * 16)
        status, _, text = server.raw(endpoint.method, missing, body, sent)
        assert status == 404
        jsonschema.validate(json.loads(text), shapes.REFUSED)
