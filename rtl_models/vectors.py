"""Golden vectors: the codes of every edge and constant of a program, for hardware benches.

A folder of vectors holds, for each tensor, `<name>.npy` (int64, shape [samples, ...]) and `<name>.hex`:
one code a line in C order, two's complement in the width of its word, padded with zeros to whole
hexadecimal digits, as `$readmemh` reads it. `index.json` says which file is which tensor, its word, scale,
shape, and the node that writes it; it is written last. A new folder appears whole or not at all.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import tempfile
from collections.abc import Iterable
from types import TracebackType
from typing import Any

import numpy as np

from mfsim.errors import DataError
from mfsim.ir.formats import Format
from mfsim.ir.program import Program, Tensor

INDEX = "index.json"

LAYOUT = "mfsim vectors 1"

LONGEST = 100
"""Longest file name without its ending, far below what file systems take."""

_DIGITS = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)

_VALUES = np.full(256, 255, dtype=np.uint8)

_VALUES[_DIGITS] = np.arange(16)


def _hex_digits(word: Format) -> int:
    """Return how many hexadecimal digits a code of `word` takes."""
    return (word.bits + 3) // 4


def to_hex(codes: np.ndarray, word: Format) -> bytes:
    """Return codes as lines of hexadecimal digits, two's complement in the width of `word`.

    Parameters
    ----------
    codes : integer array of any shape
        Codes in the range of `word`, written in C order.
    word : Format
        Width in bits, and sign.

    Returns
    -------
    bytes
        One line for each code.

    Examples
    --------
    >>> to_hex(np.array([-1, 5]), Format(6)).split()
    [b'3f', b'05']
    """
    digits = _hex_digits(word)
    bits = np.asarray(codes, dtype=np.int64).reshape(-1, 1) & ((1 << word.bits) - 1)
    lines = np.empty((bits.size, digits + 1), dtype=np.uint8)
    lines[:, :digits] = _DIGITS[bits >> (4 * np.arange(digits - 1, -1, -1)) & 15]
    lines[:, digits] = ord("\n")
    return lines.tobytes()


def from_hex(text: bytes, word: Format) -> np.ndarray:
    """Return the codes that `to_hex` wrote.

    Parameters
    ----------
    text : bytes
        The content of a .hex file.
    word : Format
        Width in bits, and sign.

    Returns
    -------
    int64 array, shape (codes,)
        Codes in the range of `word`.

    Raises
    ------
    DataError
        If a line has another length, no hexadecimal digit, or more bits than `word`.
    """
    digits = _hex_digits(word)
    lines = np.frombuffer(text, dtype=np.uint8)
    if lines.size % (digits + 1) or (lines.reshape(-1, digits + 1)[:, digits] != ord("\n")).any():
        raise DataError(f"every line must have {digits} hexadecimal digits")
    nibbles = _VALUES[lines.reshape(-1, digits + 1)[:, :digits]].astype(np.int64)
    codes = (nibbles << (4 * np.arange(digits - 1, -1, -1))).sum(axis=1)
    if (nibbles > 15).any() or (codes >> word.bits).any():
        raise DataError(f"every line must be a code of {word.bits} bits")
    sign = 1 << (word.bits - 1)
    return np.asarray((codes ^ sign) - sign if word.signed else codes, dtype=np.int64)


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Return a file name without ending for each tensor name, distinct also where case does not count.

    Parameters
    ----------
    names : iterable of str
        Distinct tensor names.

    Returns
    -------
    dict of str to str
        File name by tensor name, in order.

    Examples
    --------
    >>> file_names(["fc1/x", "fc1:x"])
    {'fc1/x': 'fc1_x', 'fc1:x': 'fc1_x_1'}
    """
    made, taken = {}, {INDEX.split(".")[0]}
    for name in names:
        base = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:LONGEST].lstrip(".-") or "tensor"
        file, number = base, 1
        while file.lower() in taken:
            file, number = f"{base}_{number}", number + 1
        taken.add(file.lower())
        made[name] = file
    return made


class VectorWriter:
    """Writes the vectors of a program, samples in any order, from any number of threads.

    Use it as a context: at the end the folder is put in place; after an error nothing is left.

    Parameters
    ----------
    folder : where the vectors go; it must not exist, or be empty, or hold vectors, whose files are replaced
    program : whose tensors are written
    samples : number of samples that `put` will bring
    """

    def __init__(self, folder: str | os.PathLike[str], program: Program, samples: int) -> None:
        self.folder, self.program, self.samples = pathlib.Path(folder), program, samples
        self._files = file_names(program.tensors)
        self._starts: dict[str, int] = {}

    def __enter__(self) -> VectorWriter:
        try:
            if self.folder.exists() and (
                not self.folder.is_dir() or (os.listdir(self.folder) and not self._old_index())
            ):
                raise DataError(f"`{self.folder}` must be a new or empty folder, or hold vectors already")
            self.folder.absolute().parent.mkdir(parents=True, exist_ok=True)
            self._draft = pathlib.Path(tempfile.mkdtemp(prefix=".vectors-", dir=self.folder.absolute().parent))
            self._draft.chmod(0o755)
        except OSError as error:
            raise DataError(f"vectors cannot be written to `{self.folder}`: {error.strerror}") from error
        for tensor in self.program.tensors.values():
            self._begin(tensor)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                (self._draft / INDEX).write_text(json.dumps(self._index(), indent=1) + "\n")
                self._put_in_place()
        except OSError as failure:
            raise DataError(f"vectors cannot be written to `{self.folder}`: {failure.strerror}") from failure
        finally:
            shutil.rmtree(self._draft, ignore_errors=True)

    def put(self, name: str, start: int, codes: np.ndarray) -> None:
        """Write `codes` [n, ...] of tensor `name` as the samples `start` to `start` + n - 1.

        Parameters
        ----------
        name : str
            A tensor of the program.
        start : int, at least 0
            Number of the first sample.
        codes : integer array, shape (n, ...)
            Codes in the range of the tensor's word.

        Raises
        ------
        DataError
            If the files cannot be written.
        """
        tensor, size = self.program.tensors[name], codes[:1].size
        line = _hex_digits(tensor.format) + 1
        for ending, place, data in (
            ("npy", self._starts[name] + 8 * start * size, np.ascontiguousarray(codes, dtype="<i8").tobytes()),
            ("hex", line * start * size, to_hex(codes, tensor.format)),
        ):
            try:
                with self._path(name, ending).open("r+b") as file:
                    file.seek(place)
                    file.write(data)
            except OSError as error:
                raise DataError(f"vectors cannot be written to `{self.folder}`: {error.strerror}") from error

    def _put_in_place(self) -> None:
        if not self.folder.exists():
            self._draft.rename(self.folder)
            return
        for entry in self._old_index().get("tensors", ()):
            for ending in ("npy", "hex"):
                (self.folder / f"{pathlib.Path(entry['file']).name}.{ending}").unlink(missing_ok=True)
        (self.folder / INDEX).unlink(missing_ok=True)
        for path in sorted(self._draft.iterdir(), key=lambda path: path.name == INDEX):
            path.replace(self.folder / path.name)

    def _path(self, name: str, ending: str) -> pathlib.Path:
        return self._draft / f"{self._files[name]}.{ending}"

    def _old_index(self) -> dict[str, Any]:
        """Return the index of the vectors that the folder holds, empty if it holds none."""
        try:
            index = json.loads((self.folder / INDEX).read_text())
            return index if index["layout"] == LAYOUT else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def _shape(self, tensor: Tensor) -> tuple[int, ...]:
        return tensor.shape if tensor.is_constant else (self.samples, *tensor.shape[1:])

    def _begin(self, tensor: Tensor) -> None:
        with self._path(tensor.name, "npy").open("wb") as file:
            header = {"descr": "<i8", "fortran_order": False, "shape": self._shape(tensor)}
            np.lib.format.write_array_header_1_0(file, header)
            self._starts[tensor.name] = file.tell()
        self._path(tensor.name, "hex").touch()
        if tensor.codes is not None:
            self.put(tensor.name, 0, tensor.codes.reshape(1, *tensor.shape))

    def _index(self) -> dict[str, object]:
        writers = {name: node for node in self.program.nodes for name in node.outputs}
        tensors = []
        for tensor in self.program.tensors.values():
            node = writers.get(tensor.name)
            role = "constant" if tensor.is_constant else "edge" if node else "input"
            tensors.append(
                {
                    "name": tensor.name,
                    "file": self._files[tensor.name],
                    "role": "output" if tensor.name in self.program.outputs else role,
                    "bits": tensor.format.bits,
                    "signed": tensor.format.signed,
                    "exponents": list(tensor.scale.exponents),
                    "axis": tensor.scale.axis,
                    **({"factors": list(map(str, tensor.scale.factors))} if tensor.scale.factors else {}),
                    "shape": list(self._shape(tensor)),
                    "node": node.name if node else "",
                    "op": node.op if node else "",
                    "layer": node.layer if node else "",
                }
            )
        return {"layout": LAYOUT, "program": self.program.digest(), "samples": self.samples, "tensors": tensors}


def read_vectors(folder: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Return the codes of every tensor in a folder of vectors, by name, read from the .hex files.

    Parameters
    ----------
    folder : str or os.PathLike
        A folder that `VectorWriter` filled.

    Returns
    -------
    dict of str to int64 array, shape (samples, ...)
        Codes by tensor name.

    Raises
    ------
    DataError
        If the folder holds no vectors, or a file is missing or damaged.
    """
    folder = pathlib.Path(folder)
    try:
        index = json.loads((folder / INDEX).read_text())
        if index["layout"] != LAYOUT:
            raise ValueError(index["layout"])
        entries = index["tensors"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"`{folder}` holds no vectors of mfsim") from error
    vectors = {}
    for entry in entries:
        path = folder / f"{entry['file']}.hex"
        try:
            codes = from_hex(path.read_bytes(), Format(entry["bits"], entry["signed"]))
            vectors[entry["name"]] = codes.reshape(entry["shape"])
        except OSError as error:
            raise DataError(f"`{path}` cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise DataError(f"`{path}` is damaged: {error}") from error
    return vectors
