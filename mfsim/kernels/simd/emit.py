"""Building blocks of generated product loops: LLVM functions by name, and a loop with carried values.

Blocks of the integer products (`int8_amx`, `int8_vnni`, `int8_avx2`) take addresses as 64-bit integers.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

I8, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)


def generated(function):
    """Make `function`, which emits instructions as Numba's `intrinsic` says, callable in kernels.

    Parameters
    ----------
    function : callable
        (typing, *argument types) to a signature and a code generator.

    Returns
    -------
    numba intrinsic
        What kernels call.
    """
    return intrinsic(function)


def declared(builder, name, result, arguments):
    """Return the LLVM function `name` of the module that is being built, declared if it is not yet.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
        Where instructions are emitted.
    name : str
        Name of the function, such as that of an LLVM intrinsic.
    result : llvmlite.ir.Type
        Type of its result.
    arguments : list of llvmlite.ir.Type
        Types of its arguments.

    Returns
    -------
    llvmlite.ir.Function
        The declaration.
    """
    known = builder.module.globals
    return known[name] if name in known else ir.Function(builder.module, ir.FunctionType(result, arguments), name)


def pointer(builder, address, to):
    """Emit `address` as a pointer to the type `to`.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
        Where instructions are emitted.
    address : llvmlite.ir.Value
        64-bit integer.
    to : llvmlite.ir.Type
        Type that the pointer points to.

    Returns
    -------
    llvmlite.ir.Value
        The pointer.
    """
    return builder.inttoptr(address, to.as_pointer())


def load(builder, address, type_):
    """Emit the load of a `type_` from `address`, of any alignment.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
        Where instructions are emitted.
    address : llvmlite.ir.Value
        64-bit integer.
    type_ : llvmlite.ir.Type
        Scalar or vector type.

    Returns
    -------
    llvmlite.ir.Value
        What lies there.
    """
    return builder.load(pointer(builder, address, type_), align=1)


def store(builder, value, address):
    """Emit the store of `value` at `address`, of any alignment.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
        Where instructions are emitted.
    value : llvmlite.ir.Value
        Scalar or vector.
    address : llvmlite.ir.Value
        64-bit integer.
    """
    builder.store(value, pointer(builder, address, value.type), align=1)


def broadcast(builder, scalar, lanes):
    """Emit a vector of `lanes` times `scalar`.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
        Where instructions are emitted.
    scalar : llvmlite.ir.Value
        Any scalar.
    lanes : int
        Elements of the vector.

    Returns
    -------
    llvmlite.ir.Value
        The vector.
    """
    vector = ir.VectorType(scalar.type, lanes)
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, scalar, I32(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(I32, lanes), [0] * lanes))


def loop(builder, steps, places, strides, carried, body):
    """Emit `steps` (0 or more) rounds of `body(places, carried) -> carried`, and return what stands after them.

    Each of `places` is an address that moves on by its stride (an int) after every round.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
        Where instructions are emitted; afterwards it stands behind the loop.
    steps : llvmlite.ir.Value
        Rounds, a 64-bit integer.
    places : list of llvmlite.ir.Value
        Addresses before the first round, 64-bit integers.
    strides : list of int
        Bytes that each place moves by.
    carried : list of llvmlite.ir.Value
        Values before the first round.
    body : callable
        Emits one round; it returns as many values as `carried` has, of the same types.

    Returns
    -------
    tuple of two lists of llvmlite.ir.Value
        Places and carried values.
    """
    before, inside = builder.block, builder.append_basic_block("round")
    after = builder.append_basic_block("after")
    builder.cbranch(builder.icmp_signed(">", steps, I64(0)), inside, after)
    builder.position_at_end(inside)
    entering = [I64(0), *places, *carried]
    current = [builder.phi(value.type) for value in entering]
    count = len(places) + 1
    results = body(current[1:count], current[count:])
    moved = [builder.add(place, I64(by)) for place, by in zip(current[:count], (1, *strides), strict=True)]
    leaving = [*moved, *results]
    last = builder.block
    for phi, first, again in zip(current, entering, leaving, strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(again, last)
    builder.cbranch(builder.icmp_signed("<", moved[0], steps), inside, after)
    builder.position_at_end(after)
    final = []
    for first, again in zip(entering[1:], leaving[1:], strict=True):
        phi = builder.phi(first.type)
        phi.add_incoming(first, before)
        phi.add_incoming(again, last)
        final.append(phi)
    return final[: len(places)], final[len(places) :]


@generated
def piece(typing, array, at, size):
    """Return `size` elements of an array in C order from flat place `at` on, as an array that must not outlive it.

    A slice says the same, but counts its owners, which takes longer than what is done with a short one.

    Parameters
    ----------
    typing : numba typing context
        Passed by Numba.
    array : array
        In C order.
    at, size : int
        First element and number of elements; not checked.

    Returns
    -------
    tuple
        Signature and code generator, as Numba's `intrinsic` asks for; in a kernel, an array of shape (size,).
    """
    kind = types.Array(array.dtype, 1, "C")

    def generate(context, builder, signature, arguments):
        whole = make_array(signature.args[0])(context, builder, arguments[0])
        part = make_array(kind)(context, builder)
        bytes_ = I64(context.get_abi_sizeof(context.get_data_type(array.dtype)))
        data = builder.gep(whole.data, [arguments[1]])
        populate_array(part, data=data, shape=[arguments[2]], strides=[bytes_], itemsize=bytes_, meminfo=None)
        return part._getvalue()

    return kind(array, types.intp, types.intp), generate


@generated
def address(typing, array):
    """Return where the codes of an array begin; `array.ctypes` says the same, and counts owners too.

    Parameters
    ----------
    typing : numba typing context
        Passed by Numba.
    array : array
        In C order.

    Returns
    -------
    tuple
        Signature and code generator, as Numba's `intrinsic` asks for; in a kernel, int64.
    """

    def generate(context, builder, signature, arguments):
        data = make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.ptrtoint(data, I64)

    return types.int64(array), generate


@generated
def inner(typing, array, index):
    """Return array[index] of an array in C order of two or more axes, as one that must not outlive it; see `piece`.

    Parameters
    ----------
    typing : numba typing context
        Passed by Numba.
    array : array
        In C order, of two or more axes.
    index : int
        Index on the first axis; not checked.

    Returns
    -------
    tuple
        Signature and code generator, as Numba's `intrinsic` asks for; in a kernel, an array of one axis less.
    """
    kind = types.Array(array.dtype, array.ndim - 1, "C")

    def generate(context, builder, signature, arguments):
        whole = make_array(signature.args[0])(context, builder, arguments[0])
        part = make_array(kind)(context, builder)
        shape, strides = (cgutils.unpack_tuple(builder, each) for each in (whole.shape, whole.strides))
        data = builder.bitcast(whole.data, I8.as_pointer())
        data = builder.bitcast(builder.gep(data, [builder.mul(arguments[1], strides[0])]), whole.data.type)
        populate_array(
            part, data=data, shape=shape[1:], strides=strides[1:], itemsize=whole.itemsize, meminfo=None
        )  # fmt: skip
        return part._getvalue()

    return kind(array, types.intp), generate


@generated
def element(typing, array, index):
    """Return array[index] of an array in C order, of any axes, at a flat place, which is not counted from the end.

    Parameters
    ----------
    typing : numba typing context
        Passed by Numba.
    array : array
        In C order.
    index : int
        Flat place, at least 0; not checked.

    Returns
    -------
    tuple
        Signature and code generator, as Numba's `intrinsic` asks for; in a kernel, the element.
    """

    def generate(context, builder, signature, arguments):
        data = make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load(builder.gep(data, [arguments[1]]))

    return array.dtype(array, types.intp), generate
