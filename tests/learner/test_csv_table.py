"""Tables as people's programs write them."""

import io

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import alx
from alx.learner.csv_table import read_csv, to_columns, to_dataframe, write_csv

INPUTS = (alx.Real("torque", 0, 300, unit="Nm"), alx.Integer("gear", 1, 6), alx.Choice("fuel", ["a,b", "c"]))
OUTPUTS = (alx.Output("nox", unit="ppm"), alx.Output("co"))
BOX = (alx.Real("x1", 0, 9), alx.Real("x2", 0, 9))
numbers = st.floats(allow_nan=True, allow_infinity=False)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.tuples(st.floats(0, 300), st.integers(1, 6), numbers, numbers, st.text("ab ;,\"'")), max_size=5
    )
)
def test_what_is_written_is_read_again(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "points.csv"
    x = np.array([[torque, gear, "a,b"] for torque, gear, *_ in rows], object).reshape(-1, 3)
    y = np.array([[nox, co] for *_, nox, co, _ in rows], float).reshape(-1, 2)
    extra = [{"who": who} for *_, who in rows]
    columns = to_columns(INPUTS, OUTPUTS, x, y, extra)
    write_csv(path, INPUTS, OUTPUTS, columns)
    table = read_csv(path, INPUTS, OUTPUTS)
    assert table.x == x.tolist()
    np.testing.assert_array_equal(table.y, y)
    assert [row["who"] for row in table.extra] == [row["who"].strip() for row in extra]
    assert path.read_text().startswith("torque [Nm],gear,fuel,nox [ppm],co")


CSV = {
    "plain": "x1,x2,y\n1.5,2,3\n4,5,\n",
    "without a header": "1.5,2,3\n4,5,nan\n",
    "semicolons": "x1;x2;y\n1.5;2;3\n4;5;\n",
    "decimal commas": "x1;x2;y\n1,5;2;3\n4;5;\n",
    "decimal commas without a header": "1,5;2;3\n4;5;\n",
    "tabs": "x1\tx2\ty\n1,5\t2\t3\n4\t5\tNaN\n",
    "units and another order": "y [V],x2,x1 (mm)\n3,2,1.5\n,5,4\n",
    "empty lines, spaces and a mark": "\ufeffx1, x2, y\n\n1.5, 2, 3\n4, 5,\n\n",
    "quotes and line ends": 'x1,"x2",y\r\n"1.5",2,3\r\n4,5,\r\n',
}


@pytest.mark.parametrize("case", CSV)
def test_all_kinds_of_csv_say_the_same(case, tmp_path):
    path = tmp_path / "points.csv"
    path.write_bytes(CSV[case].encode())
    table = read_csv(path, BOX, (alx.Output("y"),))
    assert table.x == [[1.5, 2], [4, 5]]
    np.testing.assert_array_equal(table.y, [[3], [np.nan]])


def test_other_columns_are_carried_along(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("who,x2,x1,y,\nKim,2,1,3,\nAda,5,4,6,\n")
    table = read_csv(path, BOX, (alx.Output("y"),))
    assert table.extra == [{"who": "Kim"}, {"who": "Ada"}]
    assert table.lines == [2, 3]


BAD = {
    "a word": ("x1,x2,y\n1,2,3\n1,high,3\n", r"a number for x2, got 'high' in line 3"),
    "an empty input": ("x1,x2,y\n1,,3\n", "a number for x2, got '' in line 2"),
    "a short row": ("x1,x2,y\n1,2,3\n1,2\n", "3 cells in each row, got 2 in line 3"),
    "a missing column": ("x1,y\n1,2\n", "no column 'x2', got the columns"),
    "a column twice": ("x1,x2,x2,y\n1,2,2,3\n", "several columns 'x2'"),
    "no header": ("a,b,c\n1,2,3\n", "a header with the columns x1, x2, y, got 'a,b,c'"),
    "nothing": ("\n\n", "no rows"),
    "points and commas": ("x1;x2;y\n1.5;2;3\n1,234;5;6\n", "a number for x1, got '1,234' in line 3"),
    "another unit": ("x1,x2,y [V]\n1,2,3\n", "y in 'V', and the learner in 'mV'"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_table_names_what_and_where(case, tmp_path):
    text, match = BAD[case]
    path = tmp_path / "points.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=match) as caught:
        read_csv(path, BOX, (alx.Output("y", unit="mV"),))
    assert str(path) in str(caught.value)


def test_a_table_may_be_a_text_as_well():
    columns = to_columns(BOX, OUTPUTS[:1], np.array([[1.0, 2.0]]), np.array([[3.0]]), [{}])
    text = io.StringIO()
    write_csv(text, BOX, OUTPUTS[:1], columns)
    assert text.getvalue() == "x1,x2,nox [ppm]\n1.0,2.0,3.0\n"
    text.seek(0)
    assert read_csv(text, BOX, OUTPUTS[:1]).x == [[1.0, 2.0]]
    with pytest.raises(ValueError, match="the text has no rows"):
        read_csv(io.StringIO(), BOX, OUTPUTS)


def test_a_file_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        read_csv(tmp_path / "none.csv", BOX, (alx.Output("y"),))


def test_without_pandas_a_frame_is_a_dict_of_arrays():
    columns = to_columns(BOX, (alx.Output("y"),), np.array([[1.0, 2]]), np.array([[3.0]]), [{}])
    assert {name: list(values) for name, values in to_dataframe(columns).items()} == {
        "x1": [1],
        "x2": [2],
        "y": [3],
    }
