"""report.html: well-formed, self-contained, escaped, readable."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from mfsim.analysis import memory
from mfsim.report.contents import comparison_table
from mfsim.report.figures import data_size
from mfsim.report.markup import VOID, sentence, tag, text
from mfsim.report.page import page
from mfsim.report.style import STYLE
from tests.analysis.programs import mixed, one, residual, with_unknown_op
from tests.programs_with_caches import remembering
from tests.report.networks import result

EVIL = '<script>alert("1")</script> & \'<b>`|\\'


class Outline(HTMLParser):
    """Checks that every element is closed, and keeps tags, attributes and text."""

    def __init__(self, markup):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []
        self.feed(markup)
        self.close()
        assert not self.open, f"<{self.open[-1]}> is not closed"

    def handle_starttag(self, name, attributes):
        self.tags.append(name)
        self.attributes += [(name, *pair) for pair in attributes]
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open, f"</{name}> closes nothing"
        assert self.open.pop() == name

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def networks():
    return [
        result("dense", mixed(), mismatches=2),
        result("free", residual(), info={"Data": {"set": "digits"}}, recipe="[default]\nbits = 8"),
    ]


@pytest.fixture(scope="module")
def outline(networks):
    return Outline(page(networks, "A report", "1.2.3"))


def test_page_is_well_formed_and_has_one_heading(outline):
    assert outline.tags[:2] == ["html", "head"]
    assert outline.tags.count("h1") == outline.tags.count("main") == outline.tags.count("body") == 1


def test_page_needs_nothing_else(networks, outline):
    markup = page(networks, "A report", "1.2.3")
    assert not re.search(r"https?:|//|url\(|@import|\bsrc=", markup), "no address outside the page"
    assert not {"img", "iframe", "object", "embed", "link"} & set(outline.tags)
    links = [value for name, key, value in outline.attributes if key == "href"]
    assert links
    assert all(link.startswith(("#", "csv/")) for link in links)


def test_every_link_inside_the_page_has_its_target_and_ids_are_unique(outline):
    ids = [value for _, key, value in outline.attributes if key == "id"]
    assert len(ids) == len(set(ids))
    targets = {value[1:] for _, key, value in outline.attributes if key == "href" and value.startswith("#")}
    targets |= {part for _, key, value in outline.attributes if key == "aria-labelledby" for part in value.split()}
    assert targets <= set(ids)


def test_pictures_have_names_descriptions_and_a_table(outline):
    roles = [value for name, key, value in outline.attributes if name == "svg" and key == "role"]
    assert roles == ["img"] * outline.tags.count("svg")
    assert outline.tags.count("svg") == 1 + 2 * 2, "operations of all; bits and errors of each"
    assert outline.tags.count("desc") == outline.tags.count("svg")


def test_page_says_what_multiplies_and_what_differs(outline):
    shown = " ".join(outline.text)
    assert "32 multiplications" in shown
    assert "mismatches" in shown
    assert "multiplication-free" in shown
    assert "5 overflow events" in shown
    assert "98.89" in shown


def test_page_says_that_multiplication_free_is_about_programs_and_not_about_files(outline):
    shown = " ".join(" ".join(outline.text).split())
    assert "This is about the integer programs; stock ONNX Runtime does multiply when it runs the files." in shown


def test_names_with_markup_stay_text():
    program = one("wht", (8,), layer=EVIL, name=EVIL)
    network = result(EVIL, program, info={EVIL: {EVIL: EVIL}}, recipe=EVIL)
    markup = page([network], EVIL, "1")
    outline = Outline(markup)
    assert outline.tags.count("script") == 1, "only our own"
    assert "b" not in outline.tags
    assert EVIL in outline.text
    assert "alert(" not in re.search("<script>(.*?)</script>", markup).group(1)


def test_missing_results_are_dashes_and_no_picture_is_empty():
    network = result("plain", residual(), accuracy={}, errors=False)
    outline = Outline(page([network], "t", "1"))
    assert outline.tags.count("svg") == 2
    assert "None" not in " ".join(outline.text)
    assert "nan" not in " ".join(outline.text).split()


def test_uncounted_nodes_are_named():
    network = result("odd", with_unknown_op(residual(), "mystery"), allow_uncounted=True)
    shown = " ".join(Outline(page([network], "t", "1")).text)
    assert "1 node not counted" in shown
    assert "mystery" in shown
    assert "not proved multiplication-free" in shown
    assert "(incomplete)" in shown


def luminance(colour):
    if len(colour) == 4:
        colour = "#" + "".join(2 * digit for digit in colour[1:])
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one_colour, other):
    light, dark = sorted((luminance(one_colour), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_contrast_of_text_and_bars(scheme):
    colours = dict(re.findall(r"--([\w-]+):(#\w+)", re.findall(r":root\{(.*?)\}", STYLE, re.DOTALL)[scheme]))
    for bar in ("add", "mul", "sign", "cmp", "shift", "lut", "other", "observed", "exact"):
        assert contrast(colours[bar], colours["card"]) >= 3, bar
    for ink in ("ink", "soft", "accent"):
        assert contrast(colours[ink], colours["card"]) >= 4.5, ink
        assert contrast(colours[ink], colours["page"]) >= 4.5, ink
    for tone in ("good", "bad"):
        assert contrast(colours[f"{tone}-ink"], colours[tone]) >= 4.5, tone
        assert contrast(colours[f"{tone}-ink"], colours["card"]) >= 4.5, tone
    assert contrast(colours["soft"], colours["track"]) >= 4.5


def test_tag_escapes_children_and_attributes_but_not_markup():
    assert tag("p", "<a>", tag("b", "&"), title='"') == '<p title="&quot;">&lt;a&gt;<b>&amp;</b></p>'
    assert tag("br", class_="x", hidden=True, id=None) == '<br class="x" hidden>'
    assert text(text("<")) == "&lt;"


def test_sentence_shows_backticks_as_code():
    assert sentence("node `<a>` ok") == "node <code>&lt;a&gt;</code> ok"
    assert sentence("one ` only") == "one ` only"


def test_caches_have_rows_only_where_a_network_has_them():
    plain = result("plain", mixed())
    keeping = replace(plain, name="keeping", memory=memory(remembering()))
    assert not [row for row in comparison_table([plain]).rows if row[0].startswith("Cache")]
    rows = {row[0]: row[1:] for row in comparison_table([plain, keeping]).rows}
    assert rows["Cache, each token"] == ("", data_size(1))
    assert rows["Cache, longest sequence"] == ("", f"{data_size(3)} (3 tokens)")
