"""Dispatch levels: what the machine has, and MFSIM_CPU."""

from __future__ import annotations

import pytest

from mfsim.kernels import cpu


def without(monkeypatch, *names):
    """Make the machine one that lacks the features `names`."""
    features = {name: True for needed in cpu._NEEDED.values() for name in needed} | dict.fromkeys(names, False)
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_features", lambda: features)
    monkeypatch.setattr(cpu, "_tiles_allowed", lambda: True)
    cpu.available.cache_clear()


@pytest.fixture(autouse=True)
def _fresh():
    yield
    cpu.available.cache_clear()


def test_levels_need_all_their_features(monkeypatch):
    without(monkeypatch)
    assert cpu.available() == cpu.ISAS
    without(monkeypatch, "avx512bw")
    assert cpu.available() == ("avx2", "portable")
    without(monkeypatch, *(name for needed in cpu._NEEDED.values() for name in needed))
    assert cpu.available() == ("portable",)


def test_tiles_need_leave(monkeypatch):
    without(monkeypatch)
    monkeypatch.setattr(cpu, "_tiles_allowed", lambda: False)
    assert cpu.available()[0] == "vbmi"


def test_best_is_the_highest_form_that_is_allowed(monkeypatch):
    without(monkeypatch, "amx-int8")
    monkeypatch.delenv("MFSIM_CPU", raising=False)
    assert cpu.best(("amx", "vnni", "avx2", "portable")) == "vnni"
    monkeypatch.setenv("MFSIM_CPU", "avx512")
    assert cpu.best(("amx", "vnni", "avx2", "portable")) == "avx2"
    monkeypatch.setenv("MFSIM_CPU", "portable")
    assert cpu.best(("amx", "vnni", "avx2", "portable")) == "portable"


def test_a_level_that_is_unknown_or_missing_is_an_error(monkeypatch):
    without(monkeypatch, "amx-int8")
    for name, why in (("vni", "which is no level"), ("amx", "which this machine does not have")):
        monkeypatch.setenv("MFSIM_CPU", name)
        with pytest.raises(ValueError, match="MFSIM_CPU") as error:
            cpu.best(("portable",))
        assert str(error.value) == f"`MFSIM_CPU` must be one of vbmi, vnni, avx512, avx2, portable, not {name!r}, {why}"
