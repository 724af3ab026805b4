"""report.html: one file that needs nothing else, from the comparison down to every single value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mfsim.report import contents
from mfsim.report.cim import METHOD as CIM_METHOD
from mfsim.report.figures import MINUS, counted, data_size, integer, percent
from mfsim.report.markup import Html, join, sentence, tag
from mfsim.report.pictures import bits, errors, operations
from mfsim.report.result import NetworkResult
from mfsim.report.style import SCRIPT, STYLE
from mfsim.report.sweeps import METHOD as SWEEP_METHOD
from mfsim.report.sweeps import section as sweeps_section
from mfsim.report.tables import folded, to_html

METHOD = (
    "All operations are those of one sample; the batch is never counted. Each op states what its plain kernel executes, "
    "operand widths included: an addsub is one addition or subtraction, a compare and a select are one each, and zero "
    "operands count like any other. Work on weights alone is done once and listed as offline work.",
    "A word such as s8 has 8 bits in two's complement, u5 has 5 bits without a sign. Bits proved hold for every possible input; bits observed are those of the simulated samples. SQNR is the power of the "
    "float reference over the power of the difference. Parity compares codes one by one, without a tolerance.",
    "Memory is packed: n words of b bits take n times b bits. The activation peak follows the order of execution of one sample.",
)
"""How to read the numbers, one paragraph each."""


def page(networks: Sequence[NetworkResult], title: str, version: str) -> Html:
    """Return the report as one self-contained HTML page.

    Parameters
    ----------
    networks : sequence of NetworkResult, at least one
        The networks side by side.
    title : str
        Title of the report.
    version : str
        Version of mfsim.

    Returns
    -------
    Html
        An HTML document that loads nothing from elsewhere.
    """
    anchors = [f"network-{k + 1}" for k in range(len(networks))]
    sections = [_network(network, anchor) for network, anchor in zip(networks, anchors, strict=True)]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="generator", content=f"mfsim {version}"),
        tag("title", title),
        tag("style", Html(STYLE)),
    )
    body = tag(
        "body",
        tag("a", "Skip to the comparison", href="#comparison", class_="skip"),
        _header(networks, title),
        _navigation(networks, anchors),
        tag("main", _comparison(networks, anchors), *sections, _method(networks)),
        tag(
            "footer",
            f"Made by mfsim {version}. The same numbers are in report.json, report.md and the CSV files beside this page.",
        ),
        tag("script", Html(SCRIPT)),
    )
    return Html(f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n")


def _header(networks: Sequence[NetworkResult], title: str) -> Html:
    free = sum(network.multiplication_free for network in networks)
    equal = sum(network.bit_exact is True for network in networks)
    lead = (
        f"{counted(len(networks), 'network')}: {integer(free)} multiplication-free from input codes to output "
        f"codes, {integer(equal)} with every compared realisation equal bit for bit. This is about the integer "
        "programs; stock ONNX Runtime does multiply when it runs the files."
    )
    return tag("header", tag("p", "mfsim", class_="brand"), tag("h1", title), tag("p", lead, class_="lead"))


def _navigation(networks: Sequence[NetworkResult], anchors: Sequence[str]) -> Html:
    links = [
        ("Comparison", "comparison"),
        *((n.name, a) for n, a in zip(networks, anchors, strict=True)),
        ("How to read", "method"),
    ]
    return tag(
        "nav",
        tag("ul", *(tag("li", tag("a", text, href=f"#{target}")) for text, target in links)),
        aria_label="Sections",
    )


def _comparison(networks: Sequence[NetworkResult], anchors: Sequence[str]) -> Html:
    cards = [_card(network, anchor) for network, anchor in zip(networks, anchors, strict=True)]
    return tag(
        "section",
        tag("h2", "Comparison", class_="title"),
        tag("div", *cards, class_="cards"),
        to_html(contents.comparison_table(networks), "compare"),
        operations(networks) if networks else None,
        folded(contents.operations_table(networks), "Data of the picture: operations by primitive"),
        id="comparison",
    )


def _card(network: NetworkResult, anchor: str) -> Html:
    accuracy = network.accuracy
    loss = None if accuracy["float"] is None or accuracy["integer"] is None else accuracy["integer"] - accuracy["float"]
    against = "" if loss is None else f", {100 * loss:+.2f} points against float".replace("-", MINUS)
    return tag(
        "article",
        tag("a", network.name, href=f"#{anchor}"),
        tag("span", percent(accuracy["integer"]), class_="big"),
        tag("span", f"integer accuracy{against}", class_="small"),
        tag(
            "span",
            f"{integer(network.counts.total)} operations, {data_size(network.memory.total_bytes('weight'))} of weights",
            class_="small",
        ),
        _badges(network),
        class_="card",
    )


def _badges(network: NetworkResult) -> Html:
    if network.multiplication_free:
        first = ("multiplication-free", "good")
    elif network.multiplications:
        first = (counted(network.multiplications, "multiplication"), "bad")
    else:
        first = ("not proved multiplication-free", "bad")
    second = {True: ("bit-exact", "good"), False: ("mismatches", "bad"), None: ("parity not compared", "")}[
        network.bit_exact
    ]
    badges = [first, second]
    if network.counts.uncounted:
        badges.append((counted(len(network.counts.uncounted), "node") + " not counted", "bad"))
    if network.words.overflows:
        badges.append((counted(network.words.overflows, "overflow event"), ""))
    return tag("ul", *(tag("li", text, class_=f"badge {kind}".strip()) for text, kind in badges), class_="badges")


def _network(network: NetworkResult, anchor: str) -> Html:
    rows = network.layers.rows
    first, *others = contents.network_tables(network)
    return tag(
        "section",
        tag("div", tag("h2", network.name), _badges(network), class_="title"),
        _reason(network),
        tag("div", bits(anchor, rows), errors(anchor, rows), class_="pair"),
        to_html(first),
        *(folded(table) for table in others),
        sweeps_section(anchor, network.sweeps),
        _texts(network),
        id=anchor,
    )


def _reason(network: NetworkResult) -> Html | None:
    if not network.not_free_because:
        return None
    return tag("div", tag("p", "Not multiplication-free: ", sentence(network.not_free_because), "."), class_="note-box")


def _texts(network: NetworkResult) -> Html:
    sections = [
        tag("details", tag("summary", section), tag("div", _entries(entries), class_="note-box"))
        for section, entries in network.info.items()
    ]
    if network.recipe:
        sections.append(tag("details", tag("summary", "Quantization recipe"), tag("pre", network.recipe)))
    return join(sections)


def _entries(entries: Mapping[str, str]) -> Html:
    return tag("dl", join(join([tag("dt", key), tag("dd", value)]) for key, value in entries.items()))


def _more_method(networks: Sequence[NetworkResult]) -> list[str]:
    energy, arrays = CIM_METHOD
    shown = [
        (energy, any(n.energy or n.cim for n in networks)),
        (arrays, any(n.cim for n in networks)),
        (SWEEP_METHOD, any(n.sweeps for n in networks)),
    ]
    return [paragraph for paragraph, wanted in shown if wanted]


def _method(networks: Sequence[NetworkResult]) -> Html:
    rules = ", ".join(dict.fromkeys(network.counts.rule for network in networks))
    return tag(
        "section",
        tag("h2", "How to read the numbers", class_="title"),
        tag(
            "div",
            *(tag("p", paragraph) for paragraph in (*METHOD, *_more_method(networks))),
            tag("p", f"Counting rule: {rules}."),
            class_="note-box",
        ),
        id="method",
    )
