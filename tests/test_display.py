"""Tables as text and as HTML."""

from __future__ import annotations

from html.parser import HTMLParser

from mfsim.display import MOST_ROWS, cut, figure, html_table, text_table

ROWS = [("a_long_name", 1234567, None, 0.5, True), ("b", 7, 1, 1e-9, False)]
COLUMNS = ("name", "count", "some_times", "share", "exact")


class Cells(HTMLParser):
    """Collects the texts of cells, and the elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts, self.open, self.seen = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_text_is_aligned():
    assert text_table(COLUMNS, ROWS) == (
        "name             count  some times  share  exact\n"
        "a_long_name  1,234,567           -    0.5  yes\n"
        "b                    7           1  1e-09  no"
    )


def test_text_without_rows_is_its_head():
    assert text_table(("a_b", "c"), []) == "a b  c"


def test_a_column_of_numbers_and_texts_is_flush_left():
    assert text_table(("what", "v"), [("bits", 12), ("name", "x")]) == "what  v\nbits  12\nname  x"


def test_long_cells_are_cut_on_one_line():
    assert cut("x" * 60) == "x" * 60
    assert cut("x" * 61) == "x" * 59 + "…"
    assert cut("a\n\tb") == "a b"
    assert text_table(("a",), [("y" * 99,)]) == "a\n" + "y" * 59 + "…"


def test_html_has_the_cells_escaped_and_nothing_from_elsewhere():
    text = html_table("<b>", COLUMNS, [("<img src=x>&", 1, None, 2.5, True), *ROWS])
    cells = Cells(text)
    assert not cells.open, "every element is closed"
    assert cells.seen == {"div", "table", "caption", "thead", "tbody", "tr", "th", "td"}
    first = ["<b>", "name", "count", "some times", "share", "exact", "<img src=x>&", "1", "-", "2.5", "yes"]
    assert cells.texts[:11] == first
    assert "1,234,567" in cells.texts
    assert "url(" not in text
    assert "src=x>" not in text


def test_html_says_how_many_rows_are_left_out():
    rows = [(k,) for k in range(MOST_ROWS + 2)]
    texts = Cells(html_table("many", ("k",), rows)).texts
    assert texts[-2:] == [figure(MOST_ROWS - 1), "2 more rows"]
    assert Cells(html_table("many", ("k",), rows[:MOST_ROWS])).texts[-1] == figure(MOST_ROWS - 1)
