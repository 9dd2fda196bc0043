"""evaluate.py from the command line, in this process."""

import html.parser
import json
import re

import pytest
from random_policy import random_policy

import evaluate
from alx.io import store

COMMON = ["--budget", "3", "--seeds", "6", "--methods", "random,sobol,gp-al"]


@pytest.fixture
def run(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr("sys.argv", ["evaluate.py", *map(str, arguments)])
        evaluate.main()
        return capsys.readouterr().out

    return call


def same(row):
    """What must not change from run to run: all but the times and the command."""
    return {key: row[key] for key in ("task", "method", "seed", "fingerprint", "rmse", "x", "y")}


def rows_of(out):
    return [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]


def results(out):
    return sorted(map(same, rows_of(out)), key=lambda r: (r["task"], r["method"], r["seed"]))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An undisturbed run on one- and two-dimensional tasks, LGBB without its file."""
    out = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        suite = ["--suite", "sin,airline,lgbb", "--data-dir", str(out)]
        patch.setattr("sys.argv", ["evaluate.py", *suite, *COMMON, "--out", str(out)])
        evaluate.main()
    return out


def test_there_is_a_row_for_each_run(whole):
    runs = {(r["task"], r["method"], r["seed"]) for r in results(whole)}
    assert runs == {
        (t, m, s) for t in ("sin", "airline") for m in ("random", "sobol", "gp-al") for s in range(6)
    }
    row = json.loads((whole / "rows.jsonl").read_text().splitlines()[0])
    assert row["environment"].keys() == {"command", "versions", "commit", "device"}


def test_a_stopped_run_resumes_to_the_same_rows(whole, run, tmp_path):
    lines = (whole / "rows.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "rows.jsonl").write_bytes(b"".join(lines[:8]) + lines[8][:100])
    run("--suite", "sin,airline", *COMMON, "--out", tmp_path)
    assert results(tmp_path) == results(whole)
    # What was there is not computed again: those lines, times included, are untouched.
    assert (tmp_path / "rows.jsonl").read_bytes().splitlines(keepends=True)[:8] == lines[:8]


def test_a_subset_gives_the_same_rows(whole, run, tmp_path):
    run("--suite", "airline", "--budget", 3, "--seeds", 2, "--methods", "gp-al", "--out", tmp_path)
    assert (
        results(tmp_path)
        == [r for r in results(whole) if (r["task"], r["method"]) == ("airline", "gp-al")][:2]
    )


def test_policies_may_be_named_together_or_one_by_one(run, tmp_path, policies):
    files = [tmp_path / f"{name}.safetensors" for name in "abc"]
    for file in files:
        store.save(file, policies[1], {})
    named = ["--policy", *files[:2], "--policy", files[2], "--methods", "a,b,c"]
    run("--suite", "sin", "--budget", 2, "--seeds", 1, "--out", tmp_path / "out", *named)
    assert {row["method"] for row in results(tmp_path / "out")} == {"a", "b", "c"}


def test_another_policy_runs_beside_the_rows_of_the_last_and_takes_their_place(run, tmp_path, policies):
    """What does not depend on the policy is not run again."""
    file, out = tmp_path / "mine.safetensors", tmp_path / "out"
    asked = ["--suite", "sin", "--budget", 2, "--seeds", 2, "--methods", "mine,random", "--out", out]

    def again(seed):
        store.save(file, random_policy(1, 4, "paper", seed=seed), {})
        run(*asked, "--policy", file)
        return [(r["method"], r["seed"], r["rmse"][-1]) for r in rows_of(out)]

    first, second = again(1), again(2)
    assert second[:4] == first
    assert [each[:2] for each in second[4:]] == [("mine", 0), ("mine", 1)]
    mean = sum(rmse for *_, rmse in second[4:]) / 2
    assert f"| sin | mine | {mean:.4f} |" in (out / "tables.md").read_text()
    assert again(1) == second
    mean = sum(rmse for method, _, rmse in first if method == "mine") / 2
    assert f"| sin | mine | {mean:.4f} |" in (out / "tables.md").read_text()


def test_another_budget_is_another_experiment(whole, run, tmp_path):
    (tmp_path / "rows.jsonl").write_bytes((whole / "rows.jsonl").read_bytes())
    printed = run("--suite", "sin", "--budget", 2, "--seeds", 1, "--methods", "random", "--out", tmp_path)
    assert "had 3 points (D = 1) in all" in " ".join(printed.split())
    assert len(rows_of(tmp_path)) == len(rows_of(whole)) + 1


def test_a_narrow_terminal_gets_several_tables(whole, run, monkeypatch, tmp_path):
    """Every heading in full, and the names of methods in each table."""
    monkeypatch.setenv("COLUMNS", "40")
    (tmp_path / "rows.jsonl").write_bytes((whole / "rows.jsonl").read_bytes())
    printed = run("--suite", "sin,airline", *COMMON, "--out", tmp_path)
    assert [sum(word in line for line in printed.splitlines()) for word in ("D = 1", "Sobol ")] == [3, 3]
    assert all(word in printed for word in ("   sin ", " airline ", " query ms"))
    assert "…" not in printed


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.sources, self.tags, self.figures = [], set(), 0

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.figures += tag == "svg"
        self.sources += [value for name, value in attrs if name in ("src", "href", "xlink:href")]


def test_the_report_holds_every_figure_and_fetches_nothing(whole):
    text = (whole / "report.html").read_text()
    page = Page()
    page.feed(text)
    figures = list((whole / "figures").glob("*.png"))
    # differences, figure 2 and curves of two tasks, the queries of GP AL and Random on both
    assert len(figures) == page.figures == 10
    # All there is to fetch lies beside the page, and only when it is pressed.
    files = {"rows.csv", "rows.jsonl", "tables.md"}
    others = [s for s in page.sources if not s.startswith(("data:", "#"))]
    assert sorted(others) == sorted(files)
    assert all((whole / file).is_file() for file in files)
    assert not page.tags & {"iframe", "object", "link rel"}
    assert "default-src 'none'" in text
    assert "@import" not in text
    assert set(re.findall(r"url\((.)", text)) <= {"#"}
    assert 'name="viewport"' in text
    assert "holds no lgbb_original.txt" in text
    assert "python evaluate.py --suite sin,airline,lgbb" in text


def test_tables_state_the_same_numbers_everywhere(whole):
    text = (whole / "tables.md").read_text()
    final = [r["rmse"][-1] for r in results(whole) if (r["task"], r["method"]) == ("sin", "sobol")]
    mean = sum(final) / 6
    assert re.search(rf"\| Sobol \|[^|]*\b{mean:.3f} ±", text)
    assert f"| sin | Sobol | {mean:.4f} |" in text
    assert f"{mean:.3f}" in (whole / "report.html").read_text()
    assert "Not run: lgbb" in text
    assert "- command: `python evaluate.py" in text


def test_policies_run_where_they_fit_and_are_named_where_not(run, tmp_path):
    policies = {dim: random_policy(dim, 4, network="paper") for dim in (1, 2)}
    for seed in (0, 1):
        record = {"objective": "entropy", "seed": seed, "losses": [3.0, 2.0, 1.5]}
        store.save(tmp_path / f"one{seed}.safetensors", policies[1], record)
    store.save(tmp_path / "two.safetensors", policies[2], {})
    files = [tmp_path / f"{name}.safetensors" for name in ("one0", "one1", "two")]
    chosen = "one0,one1,two,random"
    printed = run(
        *("--suite", "sin,branin", "--policy", *files, "--methods", chosen),
        *("--seeds", 1, "--budget", 3, "--out", tmp_path / "out"),
    )
    pairs = {(r["task"], r["method"]) for r in results(tmp_path / "out")}
    assert pairs == {("sin", "one0"), ("sin", "one1"), ("branin", "two")} | {
        ("sin", "random"),
        ("branin", "random"),
    }
    said = " ".join(printed.split())
    assert "Not run at D = 1, for it was trained for D = 2: two." in said
    assert "Not run at D = 2, for it was trained for D = 1: one0, one1." in said
    assert (tmp_path / "out" / "figures" / "ablation-dim1.png").exists()
    assert not (tmp_path / "out" / "figures" / "ablation-dim2.png").exists()


def test_a_users_table_is_a_task(run, tmp_path):
    lines = [f"{i},{i * i % 7},{i * 0.5}" for i in range(12)]
    (tmp_path / "mine.csv").write_text("\n".join(["a,b,c", *lines]))
    out = tmp_path / "out"
    run(
        "--csv",
        tmp_path / "mine.csv",
        "--target",
        "c",
        "--seeds",
        1,
        "--budget",
        3,
        "--methods",
        "random",
        "--out",
        out,
    )
    assert {r["task"] for r in results(out)} == {"mine"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--suite", "sin,foo"], "--suite has foo, which is no task; known are"),
        (["--suite", "sin", "--methods", "random,bar"], "--methods has bar; known are"),
        (["--suite", "sin", "--policy", "nowhere.safetensors"], "nowhere.safetensors"),
        (["--suite", "sin", "--seeds", "0"], "--seeds is 0, but must be at least 1"),
        (["--suite", "sin", "--budget", "-1"], "--budget is -1, but must be at least 1"),
        (["--suite", "airline", "--budget", "144"], "--budget must be at most 143"),
        (["--csv", "empty.csv", "--target", "y"], "empty.csv is empty"),
        (["--csv", "none.csv", "--target", "y"], "none.csv cannot be read"),
        (["--csv", "text.csv", "--target", "y"], "data row 1, column x holds 'abc'"),
        (["--target", "y"], "--target is y, but without --csv"),
        (["--suite", "lgbb", "--data-dir", "."], "holds no lgbb_original.txt"),
        (
            ["--suite", "sin", "--method", "nowhere:f"],
            "--method is nowhere:f, but nowhere cannot be imported",
        ),
        (["--suite", "sin", "--method", "json:f"], "--method is json:f, but json has no function f"),
        (["--suite", "sin", "--method", "bar"], "--methods has bar; known are"),
        (["--task", "json:f"], "--task is json:f, but json has no function f"),
        (
            ["--task", "builtins:dict"],
            "--task is builtins:dict, which returns a dict, but must return a Task",
        ),
        (
            ["--csv", "three.csv", "--target", "y", "--budget", "2", "--methods", "paper-dad"],
            "Not run at D = 3, for the paper's networks were trained for other numbers of inputs: paper: DAD",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_no_work(arguments, says, run, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "three.csv").write_text("a,b,c,y\n1,2,4,1\n2,3,3,4\n3,1,0,5\n4,4,1,2\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "text.csv").write_text("x,y\nabc,1\n2,3\n")
    with pytest.raises(SystemExit) as stopped:
        run(*arguments)
    error = capsys.readouterr().err
    assert stopped.value.code == 2
    assert says in error
    assert error.count("\n") == 1
    assert not (tmp_path / "results").exists()
