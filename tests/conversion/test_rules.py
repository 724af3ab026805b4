"""Rules: their text, what they cover, and what can be wrong with them."""

from __future__ import annotations

import pytest

from mfsim.conversion import Rule, Rules
from mfsim.errors import ConversionError

TEXT = """
[[rules]]
match = "layer?.*"
to = "mf"
sign_zero = 1

[[rules]]
match = "layer1.0.fc"
to = "wht"
threshold = 0
plane = [4, 8]
"""


def test_toml_and_lists_say_the_same(tmp_path):
    rules = Rules.from_toml(TEXT)
    assert rules.rules == (
        Rule("layer?.*", "mf", {"sign_zero": 1}),
        Rule("layer1.0.fc", "wht", {"threshold": 0, "plane": [4, 8]}),
    )
    (tmp_path / "rules.toml").write_text(TEXT)
    assert Rules.from_toml(tmp_path / "rules.toml") == Rules.from_toml(str(tmp_path / "rules.toml")) == rules
    assert Rules.from_list(rules.to_list()) == rules


@pytest.mark.parametrize(
    ("match", "path", "covered"),
    [
        ("*", "", True),
        ("layer1", "layer1", True),
        ("layer1", "layer1.0.conv1", True),
        ("layer1", "layer10", False),
        ("layer?", "layer1.0.conv1", True),
        ("*.conv1", "layer1.0.conv1", True),
        ("*.conv1", "conv1", False),
        ("layer1.0.conv1", "layer1.0", False),
    ],
)
def test_a_pattern_holds_for_everything_inside(match, path, covered):
    assert Rule(match, "keep").covers(path) == covered


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rules = 3\n", "`rules` must be a list of tables, each with `match` and `to`, not 3"),
        ("\n", "a conversion needs at least one rule, with `match` and `to`"),
        ('[[rule]]\nmatch = "*"\n', "rules must be tables [[rules]], not `rule`; did you mean `rules`?"),
        ('[[rules]]\nmatch = "*"\n', "a rule must have `to`, and {'match': '*'} has none"),
        ('[[rules]]\nto = "mf"\n', "a rule must have `match`, and {'to': 'mf'} has none"),
        ('[[rules]]\nmatch = ["a"]\nto = "mf"\n', "`match` of a rule must be a module path or a pattern, not ['a']"),
        (
            '[[rules]]\nmatch = "a"\nto = "wth"\n',
            "`to` of the rule `a` must be one of mf, wht, shift, keep, not 'wth'; did you mean `wht`?",
        ),
        ('[[rules]]\nmatch = "a"\nto = 1\n', "`to` of the rule `a` must be one of mf, wht, shift, keep, not 1"),
        (
            '[[rules]]\nmatch = "a"\nto = "mf"\nfrom = "abs"\n',
            "`from` is no option of the rule `a`; did you mean `form`?",
        ),
        (
            '[[rules]]\nmatch = "a"\nto = "shift"\nlevel = 3\n',
            "`level` is no option of the rule `a`; the options of shift are none",
        ),
        (
            '[[rules]]\nmatch = "a"\nto = "mf"\nsign_zero = true\n',
            "`sign_zero` of the rule `a` must be of type int, not True",
        ),
        ('[[rules]]\nmatch = "a"\nto = "wht"\nnorm = 1\n', "`norm` of the rule `a` must be of type bool, not 1"),
        (
            '[[rules]]\nmatch = "a"\nto = "wht"\nplane = [4.0, 4]\n',
            "`plane` of the rule `a` must be of type list, not [4.0, 4]",
        ),
    ],
)
def test_wrong_rules(text, sentence):
    with pytest.raises(ConversionError) as error:
        Rules.from_toml(text)
    assert str(error.value) == sentence


def test_files_that_are_no_rules(tmp_path):
    with pytest.raises(ConversionError, match=r"^the rules `.*none.toml` cannot be read: .*No such file"):
        Rules.from_toml(tmp_path / "none.toml")
    with pytest.raises(ConversionError, match=r"^the rules are no TOML: "):
        Rules.from_toml("a = \n")
