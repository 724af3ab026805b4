"""Dispatch levels: what the machine has, and MFSIM_CPU."""

from __future__ import annotations

import pytest

from mfsim.errors import UnsupportedOpError
from mfsim.kernels import host


def without(monkeypatch, *names):
    """Make the machine one that lacks the features `names`."""
    features = {name: True for needed in host._FEATURES.values() for name in needed} | dict.fromkeys(names, False)
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_features", lambda: features)
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr(host, "_tiles_allowed", lambda: True)
    host.levels.cache_clear()


@pytest.fixture(autouse=True)
def _fresh():
    yield
    host.levels.cache_clear()


def test_levels_stop_at_the_first_missing_feature(monkeypatch):
    without(monkeypatch)
    assert host.levels() == host.LEVELS
    without(monkeypatch, "avx512bw")
    assert host.levels() == ("portable", "avx2")
    without(monkeypatch, "avx2")
    assert host.levels() == ("portable",)


def test_tiles_need_leave(monkeypatch):
    without(monkeypatch)
    monkeypatch.setattr(host, "_tiles_allowed", lambda: False)
    assert host.levels()[-1] == "vnni"


def test_other_machines_are_portable(monkeypatch):
    without(monkeypatch)
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert host.levels() == ("portable",)


def test_level_is_the_highest_or_the_one_asked_for(monkeypatch):
    without(monkeypatch, "amx-int8")
    monkeypatch.delenv("MFSIM_CPU", raising=False)
    assert host.level() == "vnni"
    assert host.reaches("avx512")
    assert not host.reaches("amx")
    monkeypatch.setenv("MFSIM_CPU", "avx2")
    assert host.level() == "avx2"
    assert not host.reaches("avx512")


def test_a_level_that_is_unknown_or_missing_is_an_error(monkeypatch):
    without(monkeypatch, "amx-int8")
    monkeypatch.setenv("MFSIM_CPU", "vni")
    with pytest.raises(UnsupportedOpError) as error:
        host.level()
    assert str(error.value) == (
        "MFSIM_CPU must be one of portable, avx2, avx512, vnni, amx, not 'vni'; did you mean `vnni`?"
    )
    monkeypatch.setenv("MFSIM_CPU", "amx")
    with pytest.raises(UnsupportedOpError) as error:
        host.level()
    assert str(error.value) == "MFSIM_CPU is amx, but this machine has only portable, avx2, avx512, vnni"
