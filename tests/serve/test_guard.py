"""Who may ask, and how much may come."""

import json

import pytest
from live import LINE

from alx.serve import shapes, store
from alx.serve.command import serve as command

LIST = "/v1/experiments"
TOKEN = "0123456789abcdef"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "localhost.evil.example", "", "["])
def test_a_foreign_host_or_origin_is_refused(host, server):
    status, _, text = server.raw("GET", LIST, headers={"Host": host})
    assert status == 403
    assert "127.0.0.1" in json.loads(text)["error"]
    if host:
        status, _, text = server.raw("GET", LIST, headers={"Origin": f"http://{host}"})
        assert (status, "--cors" in text) == (403, True)


def test_its_own_page_and_named_origins_are_let_in(serve):
    server = serve(origins=("http://panel.example",))
    own = f"http://127.0.0.1:{server.port}"
    status, headers, _ = server.raw("GET", LIST, headers={"Origin": own})
    assert (status, "access-control-allow-origin" in headers) == (200, False)
    named = {"Origin": "http://panel.example", "Access-Control-Request-Method": "POST"}
    status, headers, _ = server.raw("OPTIONS", LIST, headers=named)
    assert (status, headers["access-control-allow-origin"]) == (204, "http://panel.example")
    assert server.raw("OPTIONS", LIST, headers=named | {"Origin": "http://other.example"})[0] == 403


WRONG = [None, "", "Bearer ", f"Bearer {TOKEN}x", TOKEN, "Bearer \xe4", f"Basic {TOKEN}"]


@pytest.mark.parametrize("shown", WRONG)
def test_without_the_token_nothing_is_told(shown, serve):
    server = serve(token=TOKEN)
    headers = {} if shown is None else {"Authorization": shown}
    status, headers, text = server.raw("GET", LIST, headers=headers)
    assert (status, headers["www-authenticate"]) == (401, "Bearer")
    assert TOKEN not in text


def test_with_the_token_any_host_will_do(serve):
    server = serve(token=TOKEN)
    headers = {"Authorization": f"Bearer {TOKEN}", "Host": "bench.example"}
    assert server.raw("GET", LIST, headers=headers)[0] == 200
    assert server.raw("GET", "/")[0] == 200  # the page holds no data


def test_a_large_body_is_refused_before_it_is_read(server):
    kind = {"Content-Type": "application/json"}
    status, _, text = server.raw("POST", LIST, b" " * (shapes.MAX_BODY + 1), kind)
    assert (status, "larger than" in text) == (413, True)
    assert server.raw("POST", LIST, json.dumps(LINE).ljust(shapes.MAX_BODY), kind)[0] == 201


def test_the_number_of_experiments_and_points_is_limited(server, monkeypatch):
    path = server.new()
    monkeypatch.setattr(store, "MAX_EXPERIMENTS", 1)
    assert "already" in server("POST", "", LINE, status=400)["error"]
    many = "x,y\n" + "0.5,1\n" * (shapes.MAX_POINTS + 1)
    status, _, answer = server.raw("POST", f"/v1/experiments{path}/csv", many, {"Content-Type": "text/csv"})
    assert (status, "at most 256 points" in answer) == (400, True)


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "text/csv"])
def test_a_form_of_another_page_is_no_request(kind, server):
    status, _, text = server.raw(
        "POST", LIST, json.dumps(LINE), {} if kind is None else {"Content-Type": kind}
    )
    assert (status, "application/json" in text) == (415, True)


def test_nothing_may_be_loaded_from_elsewhere(server):
    for path in ("/", "/page.js", "/style.css"):
        status, headers, text = server.raw("GET", path)
        assert status == 200
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
        assert "https://" not in text
    for path in ("/../app.py", "/page/../app.py", "/%2e%2e/app.py", "/nothing.js"):
        assert server.raw("GET", path)[0] == 404


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"host": "0.0.0.0"}, "needs --token"),
        ({"host": "bench.example"}, "needs --token"),
        ({"host": "::"}, "needs --token"),
        ({"token": "short"}, "at least 16"),
        ({"port": 70000}, "cannot listen at 127.0.0.1 port 70000"),
    ],
)
def test_the_command_says_what_is_missing(options, sentence, tmp_path, monkeypatch):
    monkeypatch.setattr("alx.io.cache.enable", lambda: None)
    with pytest.raises(ValueError, match=sentence):
        command(dir=tmp_path / "d", **options)


def test_a_second_server_keeps_out(tmp_path, monkeypatch):
    from alx.io.lock import hold

    monkeypatch.setattr("alx.io.cache.enable", lambda: None)
    with hold(tmp_path), pytest.raises(ValueError, match="in use by another process"):
        command(dir=tmp_path, port=0)
