"""HTML and SVG made from Python calls; text is escaped unless it was made here.

`tag` escapes every child and every attribute value that is not `Html`, so a layer name with any
characters in it stays text.
"""

from __future__ import annotations

import html
from collections.abc import Iterable

VOID = frozenset({"br", "col", "hr", "link", "meta"})
"""HTML elements without an end tag."""


class Html(str):
    """Markup that is already escaped."""

    __slots__ = ()


def text(value: object) -> Html:
    """Return `value` as escaped text, or unchanged if it is markup.

    Parameters
    ----------
    value : object
        Markup, or anything with a text.

    Returns
    -------
    Html
        Safe inside elements and quoted attributes.
    """
    return value if isinstance(value, Html) else Html(html.escape(str(value)))


def join(parts: Iterable[object], between: str = "") -> Html:
    """Return all `parts` as one piece of markup, with the text `between` between them.

    Parameters
    ----------
    parts : iterable
        Markup, or anything with a text, which is escaped.
    between : str or Html
        Escaped unless it is markup.

    Returns
    -------
    Html
        Empty without parts.
    """
    return Html(text(between).join(text(part) for part in parts))


def sentence(value: str) -> Html:
    """Return an error sentence with its `names` in backticks as code.

    Parameters
    ----------
    value : str
        A sentence; one with an odd number of backticks stays as it is.

    Returns
    -------
    Html
        Escaped text with code elements.
    """
    parts = value.split("`")
    if len(parts) % 2 == 0:
        return text(value)
    return join(tag("code", part) if k % 2 else part for k, part in enumerate(parts))


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """Return the element `name`; None children and attributes are left out.

    A trailing `_` is dropped from an attribute name and `_` inside becomes `-`; True makes an attribute
    without a value.

    Parameters
    ----------
    name : str
        Name of the element; a void one has no end tag and no children.
    *children : object
        Markup, or anything with a text, which is escaped.
    **attributes : object
        Values by attribute name, escaped; None and False leave the attribute out.

    Returns
    -------
    Html
        The element.

    Examples
    --------
    >>> tag("a", "<fc1>", href="#x", class_="layer", aria_label='"fc1"')
    '<a href="#x" class="layer" aria-label="&quot;fc1&quot;">&lt;fc1&gt;</a>'
    """
    opening = [name]
    for key, value in attributes.items():
        key = key.removesuffix("_").replace("_", "-")
        if value is True:
            opening.append(key)
        elif value is not None and value is not False:
            opening.append(f'{key}="{text(value)}"')
    inner = join(child for child in children if child is not None)
    if name in VOID:
        return Html(f"<{' '.join(opening)}>")
    return Html(f"<{' '.join(opening)}>{inner}</{name}>")
