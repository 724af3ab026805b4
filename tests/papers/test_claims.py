"""What comes out for the papers' claims and tables: the numbers, how each was found, the verdicts."""

from __future__ import annotations

import json

import pytest

from examples.papers import PAPERS, TABLES, report
from examples.papers.learned_queries import two_runs
from mfsim.errors import MfsimError

# Printed in the papers, and what their arithmetic gives (found by other code than this, 2026-11).
GOLDEN = {
    ("learned-queries", "exact"): [
        *(546_186, 480_138, 480_634, 2_693_578, 2_471_242, 2_757_896, 2_535_560, 222_336),
        *(182_849_664, 168_472_704, 184_655_616, 170_278_656, 14_376_960),
    ],
    ("keyless", "exact"): [1_543_714_304, 393_216, 557_441_024],
    ("keyless", "does not reproduce"): [234_881_024, 117_440_512],
    ("minimum", "exact"): [33_088, 2_080],
    ("minimum", "does not reproduce"): [304_906, 105_610, 604_810, 206_218],
    ("hadamard", "exact"): [16_777_216, 49_152],
}


def rows(found, name):
    """Return the rows of a table."""
    (listing,) = (listing for listing in found.tables if listing.name == name)
    return listing.rows


@pytest.mark.parametrize(("paper", "verdict"), GOLDEN)
def test_golden_values_come_out(found, paper, verdict):
    ours = {claim.value for claim in found.claims if (claim.paper, claim.verdict) == (paper, verdict)}
    assert set(GOLDEN[paper, verdict]) <= ours


def test_what_does_not_reproduce_is_exactly_this(found):
    assert [(claim.paper, claim.what) for claim in found.claims if claim.verdict == "does not reproduce"] == [
        ("keyless", "GPT-2 with 12 layers"),
        ("keyless", "perplexity, 12-layer QKV"),
        ("keyless", "cache of 8192 tokens, V alone"),
        ("keyless", "cache of 8192 tokens, K and V"),
        ("minimum", "parameters, 6 encoders with MLP"),
        ("minimum", "parameters, 6 encoders without MLP"),
        ("minimum", "parameters, 12 encoders with MLP"),
        ("minimum", "parameters, 12 encoders without MLP"),
        ("minimum", "Q = K M / P of the original on MNIST"),
        ("minimum", "collapsed matrices without MLP"),
    ]


def test_what_is_derived_is_exactly_this(found):
    derived = [(claim.paper, claim.what, claim.verdict) for claim in found.claims if claim.basis == "derived"]
    exact, differs = "exact", "does not reproduce"
    assert derived == [
        ("learned-queries", "directional filters", exact),
        ("learned-queries", "gap of top-1 on C10", exact),
        ("learned-queries", "gap of top-1 on Tiny-IN", exact),
        ("keyless", "GPU hours", exact),
        ("keyless", "perplexity, 12-layer QKV", differs),
        ("keyless", "perplexity, 12-layer QVV(3)", exact),
        ("keyless", "perplexity, 36-layer QKV", exact),
        ("keyless", "perplexity, 36-layer QVV(3)", exact),
        ("keyless", "layers of Qwen2-1.5B", exact),
        ("keyless", "KV heads of Qwen2-1.5B", exact),
        ("keyless", "cache saved at 512 tokens", exact),
        ("keyless", "cache saved at 2048 tokens", exact),
        ("keyless", "cache saved at 8192 tokens", exact),
        ("keyless", "cache of 8192 tokens, V alone", differs),
        ("keyless", "cache of 8192 tokens, K and V", differs),
        ("minimum", "Q = K M / P of the original on MNIST", differs),
    ]


def test_totals_keep_each_basis_apart(found):
    totals = {basis: {verdict: n for verdict, n in row.items() if n} for basis, row in found.totals().items()}
    assert totals == {
        "counted": {
            "exact": 57,
            "within the bound": 3,
            "beyond the bound": 1,
            "does not reproduce": 6,
            "not derivable": 1,
        },
        "derived": {"exact": 12, "does not reproduce": 4},
        "measured": {"not derivable": 43},
        "unstated": {"not derivable": 1},
    }
    assert sum(sum(row.values()) for row in totals.values()) == len(found.claims)
    assert found.total_listing().records()[1] == {
        "basis": "derived",
        "exact": 12,
        "within_the_bound": 0,
        "beyond_the_bound": 0,
        "does_not_reproduce": 4,
        "not_derivable": 0,
    }


def test_bounds_are_compared_as_bounds(found):
    bounds = [(c.what, c.claimed, round(c.value, 2), c.verdict) for c in found.claims if "bound" in c.verdict]
    assert bounds == [
        ("share of W_QK and one W_VO, S = 6", "slightly more than 25 %", 29.17, "within the bound"),
        ("share of W_QK and one W_VO, S = 12", "slightly more than 25 %", 27.08, "within the bound"),
        ("minimum without MLP", "less than 10 %", 8.33, "within the bound"),
        ("parameters saved", "up to 90 %", 91.67, "beyond the bound"),
    ]


def test_accuracies_and_measurements_are_not_derivable(found):
    underived = [claim for claim in found.claims if claim.verdict == "not derivable"]
    assert {claim.value for claim in underived if claim.what != "total parameters saved"} == {None}
    assert sum("accuracy" in claim.what or claim.what.startswith("top-") for claim in underived) == 16
    assert all(claim.reason for claim in found.claims)


def test_counts_are_plain_integers(found):
    for claim in json.loads(json.dumps(found.to_json()))["claims"]:
        counted = claim["what"].startswith(("parameters", "multiplications")) and "%" not in claim["claimed"]
        if counted:
            assert type(claim["ours"]) is int, claim["what"]


def test_every_table_has_a_title(found):
    assert {listing.name for listing in found.listings()} == set(TABLES)


def test_parameters_of_the_vision_transformers(found):
    by_unit = {row[0]: row[1:] for row in rows(found, "vision_transformer_parameters")}
    assert by_unit["qk-dftk"] == by_unit["qk-mfqk"] == by_unit["qkk"] == (480_138, 2_471_242, 2_535_560)
    assert by_unit["qvv3"] == (496_522, 2_544_970, 2_609_288)
    assert by_unit["hadamard-o"] == (481_162, 2_473_546, 2_537_864)
    assert by_unit["qkk with hadamard-o"] == (415_114, 2_251_210, 2_315_528)
    assert by_unit["qkv without MLP"] == (281_482, 916_042, 980_360)
    assert by_unit["wqk-novo"] == (348_042, 2_026_570, 2_090_888)
    assert by_unit["sq-sk-sk"] == (480_634, 2_471_800, 2_536_118)


def test_multiplications_of_the_vision_transformers(found):
    table = {row[:2]: row[2:] for row in rows(found, "vision_transformer_multiplications")}
    mini = {unit: table["mini-vit 3x32x32", unit] for unit in ("qkv", "qkk", "qk-dctk", "qk-whtk")}
    assert (mini["qkv"][0], mini["qkk"][0]) == (38_799_616, 34_539_776)
    assert mini["qk-dctk"][3] - mini["qkk"][3] == 1_064_960
    assert mini["qk-whtk"][4] - mini["qkk"][4] == 166_400


def test_shares_of_the_compact_vision_transformer(found):
    shares = {row[0]: row[1:] for row in rows(found, "compact_vit_shares")}
    assert shares["attention.value"] == (14_376_960, 7.86)
    assert shares["attention.scores"] == shares["attention.aggregate"] == (4_867_200, 2.66)
    assert sum(count for count, _ in shares.values()) == 182_849_664


def test_caches_and_depths_of_the_qwen_shape(found):
    assert rows(found, "qwen2_cache_bytes")[-1] == (8192, 234_881_024, 117_440_512)
    depths = {row[0]: row[1:] for row in rows(found, "keyless_parameters")}
    assert depths["qkv"] == (4_194_304, 4_194_304, 1_543_714_304, 1_543_714_304)
    assert depths["qvv3"] == (3_211_264, 3_145_728, 1_538_202_112, 1_532_697_088)


def test_a_decoded_token_costs_what_its_closed_form_says(found):
    d, kv, steps = 1536, 256, rows(found, "decode_steps")
    assert [tokens for unit, tokens, *_ in steps if unit == "qvv3"] == [512, 2048, 8192, 32768]
    for unit, tokens, learned, activation, fixed, *_, cache in steps:
        projections = {
            "qkv": 2 * d * d + 2 * d * kv,
            "qvv3": 2 * d * d + d * kv,
            "hadamard-o-block": d * d + 2 * d * kv + d,
        }
        assert learned == projections[unit]
        assert activation == 2 * tokens * d
        assert fixed == 2 * (d + tokens * kv) + 12 * tokens  # rotations of the query and of all keys, 1 / sqrt(128)
        assert cache == 28 * (1 if unit == "qvv3" else 2) * kv * tokens * 2


def test_savings_of_the_hadamard_projection(found):
    assert [row[1] for row in rows(found, "hadamard_attention_saving")] == [24.805, 24.902, 24.951, 24.976, 24.988]
    totals = {row[:2]: row[3:] for row in rows(found, "hadamard_total_saving")}
    assert totals[256, 4] == (1.62, 0.90)
    assert totals[2048, 24] == (7.67, 7.11)
    assert totals[4096, 32] == (8.07, 7.83)
    assert rows(found, "hadamard_token_cost")[1] == ("transform", 4096, 4096 * 12 + 4096)


def test_overdetermination(found):
    assert [row[2:] for row in rows(found, "minimum_overdetermination")] == [
        (2.086, 1.738),
        (5.913, 4.928),
        (1.065, 0.888),
        (3.029, 2.524),
    ]


def test_transforms(found):
    counts = {row[:2]: row[2:] for row in rows(found, "transforms")}
    assert counts["Walsh-Hadamard", 32] == (0, 0, 160)
    assert counts["cosine (Lee)", 32] == (80, 0, 209)
    assert counts["Fourier, complex", 8] == (4, 0, 52)
    assert counts["Fourier, real", 32] == (54, 0, 164)


@pytest.mark.parametrize(
    ("mean", "deviation", "runs"),
    [
        ("76.035", "0.530", (76.41, 75.66)),
        ("76.155", "0.035", (76.18, 76.13)),
        ("76.140", "0.806", (76.71, 75.57)),
        ("76.830", "0.764", (77.37, 76.29)),
        ("77.320", "0.354", (77.57, 77.07)),
        ("77.310", "0.976", (78.00, 76.62)),
        ("76.970", "1.075", (77.73, 76.21)),
        ("77.145", "0.757", (77.68, 76.61)),
    ],
)
def test_two_runs(mean, deviation, runs):
    assert two_runs(mean, deviation) == runs


def test_no_two_runs():
    with pytest.raises(ValueError, match=r"^no two runs have the mean 76\.155 and the deviation 0\.036$"):
        two_runs("76.155", "0.036")


def test_one_paper_alone():
    alone = report(["hadamard"])
    assert {claim.paper for claim in alone.claims} == {"hadamard"}
    assert {row[1] for row in rows(alone, "attention_layer")} == {"hadamard-o", "hadamard-o-pow2"}


def test_an_unknown_paper():
    message = f"`paper` must be one of {', '.join(PAPERS)}, not 'keyles'; did you mean `keyless`?"
    with pytest.raises(MfsimError) as raised:
        report(["keyles"])
    assert str(raised.value) == message
