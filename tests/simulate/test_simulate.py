"""The simulator equals the references, however a batch is cut, and says what it saw on the way."""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from mfsim.errors import DataError, UnsupportedOpError
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale
from mfsim.parity.reference import run_reference
from mfsim.simulate import Simulator, quantize_input, simulate
from mfsim.simulate.executor import MOST_SIZES
from mfsim.simulate.planner import Plan
from tests.bits import assert_bit_equal
from tests.programs import random_codes, random_program, with_all_outputs

SEEDS = range(120)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_tensor_equals_the_reference(seed):
    program = with_all_outputs(random_program(seed))
    codes = random_codes(program, 9, seed)
    expected = run_reference(program, codes)
    result = simulate(program, codes, batch_size=4, threads=1)
    for name in program.outputs:
        assert_bit_equal(result.outputs[name], expected[name], f"{name} of program {seed}")


def events(program, codes):
    """Return by node how many codes do not fit, from the reference results of the exact sums."""
    values = run_reference(with_all_outputs(program), codes)
    counted = {}
    for node in program.nodes:
        if node.op in ("requantize", "accumulator", "rescale"):
            widest = {"bits": 63, "signed": 1, "overflow": "saturate", "narrow": 0, "clamp": "none"}
            wide = {name: widest.get(name, value) for name, value in node.attributes.items()}
            exact = _reference(node.op, values[node.inputs[0]], wide)
            counted[node.name] = int((exact != values[node.outputs[0]]).sum())
    return counted


def _reference(op, codes, attributes):
    from mfsim import ops
    from mfsim.ops.op import objects

    return ops.get(op).reference([objects(codes)], attributes)[0]


@pytest.mark.parametrize("seed", SEEDS)
def test_overflow_events_are_counted_by_node(seed):
    program = random_program(seed)
    codes = random_codes(program, 7, seed)
    assert simulate(program, codes, batch_size=3).overflows == events(program, codes)


def test_there_are_overflow_events():
    totals = [
        sum(simulate(random_program(seed), random_codes(random_program(seed), 7)).overflows.values()) for seed in SEEDS
    ]
    assert sum(total > 0 for total in totals) >= 30


@pytest.mark.parametrize("seed", SEEDS[::12])
def test_batch_size_and_threads_change_nothing(seed):
    program = random_program(seed)
    codes = random_codes(program, 23, seed)
    keep = [name for node in program.nodes for name in node.outputs]
    first = simulate(program, codes, batch_size=23, threads=1, observe=True, keep=keep)
    for batch_size, threads in ((1, 1), (1, 3), (4, 2), (7, 5), (22, 2), (100, 8), (64, None)):
        again = simulate(program, codes, batch_size=batch_size, threads=threads, observe=True, keep=keep)
        assert (again.observed, again.overflows, again.samples) == (first.observed, first.overflows, 23)
        for name, expected in (first.outputs | first.kept).items():
            assert_bit_equal(
                (again.outputs | again.kept)[name], expected, f"{name}, {batch_size} a chunk, {threads} threads"
            )


@pytest.mark.parametrize("seed", SEEDS[::12])
def test_observed_codes(seed):
    program = with_all_outputs(random_program(seed))
    codes = random_codes(program, 11, seed)
    result = simulate(program, codes, observe=True, batch_size=4)
    assert result.observed == {name: (int(v.min()), int(v.max())) for name, v in result.outputs.items()}
    for name, (lo, hi) in result.observed.items():
        range_ = program.tensors[name].range
        assert range_.low <= lo <= hi <= range_.high


def test_nothing_is_observed_or_kept_unless_asked():
    program = random_program(1)
    result = simulate(program, random_codes(program, 3))
    assert (result.observed, result.kept) == ({}, {})
    assert tuple(result.outputs) == program.outputs


def test_kept_tensors():
    program = with_all_outputs(random_program(2))
    codes = random_codes(program, 5)
    every = simulate(program, codes)
    some = replace(program, outputs=program.outputs[-1:])
    kept = simulate(some, codes, keep=program.outputs[:3]).kept
    assert list(kept) == list(program.outputs[:3])
    for name, values in kept.items():
        assert_bit_equal(values, every.outputs[name])
    assert list(simulate(some, codes, keep=program.outputs[0]).kept) == [program.outputs[0]]


@pytest.mark.parametrize("seed", SEEDS[::10])
def test_empty_batch(seed):
    program = random_program(seed)
    result = simulate(program, random_codes(program, 0), observe=True)
    assert result.samples == 0
    assert result.observed == {}
    assert set(result.overflows.values()) <= {0}
    for name in program.outputs:
        assert_bit_equal(result.outputs[name], np.empty((0, *program.tensors[name].shape[1:]), np.int64))


def small() -> ProgramBuilder:
    builder = ProgramBuilder()
    builder.input("x", (2, 3), Format(8), Scale.of(-4))
    return builder


def test_input_that_is_an_output():
    builder = small()
    program = builder.finish(["x", builder.node("relu", ["x"], outputs=["y"])])
    codes = random_codes(program, 5)["x"]
    result = simulate(program, codes)
    assert_bit_equal(result.outputs["x"], codes)
    assert_bit_equal(result.outputs["y"], np.maximum(codes, 0))


def test_program_without_nodes():
    codes = np.arange(6, dtype=np.int8).reshape(1, 2, 3)
    assert_bit_equal(simulate(small().finish(["x"]), codes).output, codes.astype(np.int64))


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64])
def test_inputs_of_any_integer_type_and_layout(kind):
    builder = small()
    program = builder.finish([builder.node("neg", ["x"])])
    codes = np.arange(60).reshape(10, 2, 3)
    expected = simulate(program, codes).output
    assert_bit_equal(simulate(program, np.asfortranarray(codes.astype(kind))).output, expected)
    assert_bit_equal(simulate(program, codes.astype(kind)[::-1]).output, expected[::-1].copy())


def test_inputs_are_not_changed():
    program = random_program(5)
    codes = random_codes(program, 6)
    before = {name: values.copy() for name, values in codes.items()}
    simulate(program, codes)
    for name, values in codes.items():
        assert_bit_equal(values, before[name])


@pytest.mark.parametrize("threads", [1, 3])
def test_progress(threads):
    builder = small()
    program = builder.finish([builder.node("neg", ["x"])])
    calls = []
    main = threading.get_ident()

    def progress(done, total):
        calls.append((done, total))
        assert threading.get_ident() == main

    simulate(program, np.zeros((10, 2, 3), np.int64), batch_size=4, threads=threads, progress=progress)
    # Chunks end in any order.
    sizes = [now - before for before, now in itertools.pairwise([0, *(done for done, _ in calls)])]
    assert sorted(sizes) == [2, 4, 4]
    assert [total for _, total in calls] == [10, 10, 10]


@pytest.mark.parametrize("threads", [1, 3])
def test_error_in_progress_stops_the_run(threads, monkeypatch):
    builder = small()
    program = builder.finish([builder.node("neg", ["x"])])
    done, runs = [], []

    def slow(inputs, attributes, outputs):
        runs.append(len(inputs[0]))
        time.sleep(0.01)

    monkeypatch.setattr("mfsim.ops.elementwise.kernels.run_relu", slow)

    def progress(samples, total):
        done.append(samples)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(program, np.zeros((100, 2, 3), np.int64), batch_size=1, threads=threads, progress=progress)
    assert done == [1]
    assert sum(runs) <= 10


def test_memory_is_bounded_by_the_chunk():
    """A program with large inner values on many samples needs little more than its inputs and outputs."""
    import tracemalloc

    builder = ProgramBuilder()
    x = builder.input("x", (64,), Format(8))
    for _ in range(6):
        x = builder.node("reshape", [x], {"shape": (64, 1)})
        x = builder.node("concat", [x] * 16, {"axis": 2})
        x = builder.node("slice", [x], {"axes": (2,), "starts": (0,), "ends": (1,), "steps": (1,)})
        x = builder.node("flatten", [x])
    program = builder.finish([x])
    codes = np.zeros((4096, 64), np.int64)
    simulate(program, codes[:1], batch_size=16, threads=1)
    tracemalloc.start()
    simulate(program, codes, batch_size=16, threads=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    chunk = 16 * 64 * 16 * 8
    assert peak < codes.nbytes + 6 * chunk, f"{peak} bytes for an output of {codes.nbytes} and chunks of {chunk}"


def test_import_is_light():
    code = "import sys, mfsim.simulate; print(sorted({'torch', 'onnx', 'onnxruntime', 'brevitas'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


@pytest.mark.parametrize("seed", SEEDS[::12])
def test_fast_and_plain_kernels_give_the_same(seed):
    program = random_program(seed)
    codes = random_codes(program, 5, seed)
    keep = [name for node in program.nodes for name in node.outputs]
    plain, fast = (simulate(program, codes, observe=True, keep=keep, kernels=kernels) for kernels in ("plain", "fast"))
    assert (plain.observed, plain.overflows) == (fast.observed, fast.overflows)
    for name in keep:
        assert_bit_equal(fast.kept[name], plain.kept[name], name)


def test_plain_kernels_are_taken_where_they_are_asked_for():
    builder = ProgramBuilder()
    x = builder.node("wht", [builder.input("x", (2, 4), Format(4))], {})
    transformed = builder.finish([builder.node("flatten", [x], {})])
    forms = {
        kernels: [step.run.__module__ for step in Plan(transformed, kernels).steps] for kernels in ("plain", "fast")
    }
    assert forms == {"plain": ["mfsim.ops.wht.kernels", "mfsim.ops.layout.kernels"], "fast": ["mfsim.ops.wht.fast"]}
    program = small().finish(["x"])
    with pytest.raises(DataError) as error:
        simulate(program, np.zeros((1, 2, 3), np.int64), kernels="quick")
    assert str(error.value) == "`kernels` must be one of fast, plain, not 'quick'"


def test_a_level_that_is_none_is_one_error(monkeypatch):
    monkeypatch.setenv("MFSIM_CPU", "mmx")
    with pytest.raises(
        UnsupportedOpError, match=r"^`MFSIM_CPU` must be one of .*portable, not 'mmx', which is no level$"
    ):
        simulate(small().finish(["x"]), np.zeros((1, 2, 3), np.int64))


@pytest.mark.parametrize("threads", [1, 2])
def test_real_inputs_are_quantized_chunk_by_chunk(threads):
    rng = np.random.default_rng(7)
    for signed, exponent in ((True, -5), (False, 3), (True, -60)):
        builder = ProgramBuilder()
        x = builder.input("x", (3, 4), Format(8, signed), Scale.of(exponent))
        program = builder.finish([builder.node("requantize", [x], {"shift": (1,), "axis": -1, "bits": 5, "signed": 1})])
        for word in (np.float16, np.float32, np.float64):
            values = np.ldexp(rng.standard_normal((21, 3, 4)) * 40, min(exponent, 4)).astype(word)
            expected = simulate(program, quantize_input(program, values), observe=True, keep="x")
            found = simulate(program, values, batch_size=4, threads=threads, observe=True, keep="x")
            assert_bit_equal(found.output, expected.output)
            assert_bit_equal(found.kept["x"], expected.kept["x"])
            assert (found.overflows, found.observed) == (expected.overflows, expected.observed)


def test_threads_are_kept_by_a_simulator_and_leave_with_it():
    builder = small()
    program = builder.finish([builder.node("neg", ["x"])])
    simulator = Simulator(program)
    codes = np.zeros((40, 2, 3), np.int64)
    before = set(threading.enumerate())
    simulator.run(codes, batch_size=1, threads=3)
    first = set(threading.enumerate()) - before
    simulator.run(codes, batch_size=1, threads=3)
    helpers = set(threading.enumerate()) - before
    assert first <= helpers
    assert 1 <= len(helpers) <= 2
    del simulator
    gc.collect()
    for helper in helpers:
        helper.join(5)
        assert not helper.is_alive()


def test_an_error_in_any_chunk_ends_the_run():
    builder = small()
    program = builder.finish([builder.node("neg", ["x"])])
    simulator = Simulator(program)
    codes = np.zeros((40, 2, 3), np.int64)
    codes[33, 1, 1] = 1000
    codes[3, 1, 1] = -7000
    for threads in (1, 2, 3):
        with pytest.raises(DataError, match=r"reach -7000\.\.1000"):
            simulator.run(codes, batch_size=4, threads=threads)
        assert not simulator.run(codes[4:33], batch_size=4, threads=threads).output.any(), "it can be used on"


class Stop(BaseException):
    """What no handler of errors takes."""


def test_what_ends_a_helper_ends_the_run(monkeypatch):
    builder = small()
    program = builder.finish([builder.node("neg", ["x"])])
    main = threading.get_ident()

    def failing(inputs, attributes, outputs):
        if threading.get_ident() != main:
            raise Stop
        time.sleep(0.02)

    monkeypatch.setattr("mfsim.ops.elementwise.kernels.run_neg", failing)
    with pytest.raises(Stop):
        simulate(program, np.zeros((40, 2, 3), np.int64), batch_size=1, threads=2, kernels="plain")


def test_one_simulator_in_several_threads_with_several_sizes():
    builder = small()
    simulator = Simulator(builder.finish([builder.node("neg", ["x"])]))
    wrong = []

    def work(number):
        codes = np.full((3 * number + 2, 2, 3), number)
        for k in range(60):
            try:
                found = simulator.run(codes, batch_size=1, threads=2 + (k + number) % 3).output
                if not np.array_equal(found, -codes):
                    wrong.append(number)
            except Exception as error:  # whatever it is, it is wrong
                wrong.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(before)
    assert not wrong


def test_calls_of_a_few_sizes_are_kept():
    builder = small()
    simulator = Simulator(builder.finish([builder.node("neg", ["x"])]))
    for size in range(3 * MOST_SIZES, 0, -1):
        simulator.run(np.zeros((size, 2, 3), np.int64), threads=1)
    (room,) = simulator._executor(False, ())._free
    assert len(room.bound) == MOST_SIZES


def test_a_thread_has_its_own_buffers_again_after_a_run():
    from mfsim.kernels.scratch import scratch

    builder = ProgramBuilder()
    x = builder.input("x", (4, 6), Format(8))
    w = builder.constant("w", np.ones((6, 5), np.int64), Format(8))
    simulator = Simulator(builder.finish([builder.node("matmul", [x, w])]))
    own = scratch.buffers
    simulator.run(np.zeros((9, 4, 6), np.int64), threads=1)
    (room,) = simulator._executor(False, ())._free
    assert scratch.buffers is own
    assert room.buffers
    assert not any(buffer is kept for buffer in own.values() for kept in room.buffers.values())
    with pytest.raises(DataError):
        simulator.run(np.full((9, 4, 6), 1000), threads=1)
    assert scratch.buffers is own
