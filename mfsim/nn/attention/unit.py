"""`Attention`: one module for every attention unit, made of leaf modules.

Arithmetic happens in leaf modules only, which quantization replaces where they stand; `forward` moves
data between them. Rows are [N, tokens, features], heads [N, heads, tokens, n]. With fewer heads of
keys than of queries, the queries that share a head of keys stand below each other in one matrix, so
that no key is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import nn

from mfsim.errors import ShapeError, UnsupportedOpError
from mfsim.nn.attention import parts
from mfsim.nn.attention.config import PROJECTIONS, AttentionConfig
from mfsim.nn.attention.fitting import check_grid, check_width
from mfsim.nn.filterbank import Filterbank
from mfsim.nn.matrices import TriangularLinear
from mfsim.nn.mf import MFMul
from mfsim.nn.tokens import CachedRows, Rope


def through(module: nn.Module | None, x: torch.Tensor) -> torch.Tensor:
    """Return what `module` makes of x; x itself without a module.

    Parameters
    ----------
    module : torch.nn.Module or None
    x : tensor
        What the module takes, of any shape.

    Returns
    -------
    tensor
    """
    if module is None:
        return x
    y: torch.Tensor = module(x)
    return y


class Attention(nn.Module):
    """The attention unit that `config` describes.

    Parameters
    ----------
    config : AttentionConfig
    width : int
        Features of a token, a multiple of the heads.
    tokens : int
        The most tokens that come in; a filterbank needs exactly as many.
    grid : (rows, columns), optional
        Of the patches, for a filterbank; without it the tokens must be a square, or one more.

    Attributes
    ----------
    query, key, value, output : projections, or None
    query_norm, key_norm, value_norm, output_norm : norms behind them, or None
    chain : the matrices W_R; `relu` stands in front of the last, or is None
    mf_value : the element-wise MF operator, or None
    query_transform, key_transform, value_transform, query_rope, key_rope : or None
    scores, normalise, aggregate : the two products and what stands between
    cached : of a causal unit, a `CachedRows` for each kind of rows that decoding keeps
    hadamard, affine : in place of `output`, or None

    Raises
    ------
    ShapeError
        If the unit does not fit `width`, `tokens` or `grid`.
    """

    def __init__(
        self, config: AttentionConfig, width: int, tokens: int, *, grid: tuple[int, int] | None = None
    ) -> None:
        super().__init__()
        if tokens < 1:
            raise ShapeError(f"`tokens` of an attention unit must be at least 1, not {tokens}")
        n = check_width(config, width)
        self.config, self.width, self.tokens, self.n = config, width, tokens, n
        self._make_projections(n * config.groups)
        self._make_transforms(check_grid(config, tokens, grid))
        self.scores = parts.product(config, config.similarity, transpose_b=True)
        self.normalise = parts.normaliser(config, n, config.causal)
        self.aggregate = parts.product(config, config.aggregation, transpose_b=False)
        self.output: nn.Module | None = None
        self.hadamard = self.affine = None
        if config.output in PROJECTIONS:
            bias = config.bias if config.output_bias is None else config.output_bias
            self.output = parts.linear(config, config.output, width, width, bias)
        elif config.output == "hadamard":
            self.hadamard, self.affine = parts.hadamard(config, width)
        self.output_norm = parts.norm(config, width) if self.output is not None else None
        kept = dict.fromkeys(config.cached) if config.causal else {}
        self.cached = nn.ModuleDict({entry: CachedRows() for entry in kept})

    def _make_projections(self, narrow: int) -> None:
        config, width = self.config, self.width

        def projection(source: str, outputs: int) -> tuple[nn.Module | None, nn.Module | None]:
            if source != "projection":
                return None, None
            layer = parts.linear(config, config.projection, width, outputs, config.bias)
            return layer, parts.norm(config, outputs)

        self.query, self.query_norm = projection(config.query, width)
        if config.query == "triangular":
            self.query = TriangularLinear(width)
        if config.chain:
            self.query_norm = parts.norm(config, width, axis=-3)
        self.chain = nn.ModuleList(parts.remap(config, width) for _ in range(config.chain))
        self.relu = nn.ReLU() if config.chain_relu else None
        self.key, self.key_norm = projection(config.key, narrow)
        self.value, self.value_norm = projection(config.value, narrow)
        self.mf_value = None
        if config.value == "mf":
            self.mf_value = MFMul(config.value_form, config.sign_zero, config.grid)

    def _make_transforms(self, grid: tuple[int, int]) -> None:
        config, n = self.config, self.n
        self.query_transform = parts.transform(config, config.query_transform, config.heads, n, grid)
        self.key_transform = parts.transform(config, config.key_transform, config.groups, n, grid)
        self.value_transform = None
        if not self._shares_transform():
            self.value_transform = parts.transform(config, config.value_transform, config.groups, n, grid)
        banks = (self.query_transform, self.key_transform, self.value_transform)
        banks_of_unit = [bank for bank in banks if isinstance(bank, Filterbank)]
        for bank in banks_of_unit[1:]:  # one fusion for each head, whatever it filters
            bank.fusion = banks_of_unit[0].fusion
        self.query_rope = Rope(n, self.tokens, config.rope_base) if config.rope else None
        self.key_rope = Rope(n, self.tokens, config.rope_base) if config.rope else None

    def _shares_transform(self) -> bool:
        """Whether V is the transformed K, made once."""
        config = self.config
        return (config.value == "key" or config.key == "value") and config.key_transform == config.value_transform

    def forward(self, x: torch.Tensor, memory: torch.Tensor | None = None) -> torch.Tensor:
        """Return the unit's output.

        Parameters
        ----------
        x : float tensor, shape [N, T, width]
            Tokens, at most `tokens` of them where positions are rotated.
        memory : float tensor, shape [N, S, width], or None
            Tokens of keys and values (cross-attention); None for x. A causal mask, rotary positions and values made
            of Q and K do not go with it.

        Returns
        -------
        float tensor, shape [N, T, width]

        Raises
        ------
        ShapeError
            If x or `memory` has another width or number of axes.
        UnsupportedOpError
            If the unit cannot attend to a `memory`.
        """
        self._check(x, memory)
        return self.attend(*self.rows(x, x if memory is None else memory))

    def _check(self, x: torch.Tensor, memory: torch.Tensor | None) -> None:
        for name, tensor in (("x", x), ("memory", memory)):
            if tensor is not None and (tensor.ndim != 3 or tensor.shape[-1] != self.width):
                raise ShapeError(f"`{name}` must be [N, tokens, {self.width}], not {list(tensor.shape)}")
        config = self.config
        own = (("`causal`", config.causal), ("`rope`", config.rope), ("`value` mf", config.value == "mf"))
        for part, there in own:
            if there and memory is not None:
                raise UnsupportedOpError(f"an attention unit with {part} cannot attend to a `memory` of other tokens")

    def rows(self, x: torch.Tensor, memory: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return Q of the tokens, and K and V of `memory`, as rows before transforms and rotations.

        Parameters
        ----------
        x : float tensor, shape [N, T, width]
            Tokens of the queries.
        memory : float tensor, shape [N, S, width]
            Tokens of keys and values; x itself for self-attention.

        Returns
        -------
        tuple of three float tensors
            Q [N, T, width], K and V [N, S, n * kv_heads]; one tensor where two are the same rows.
        """
        config = self.config
        query = self._query(x)
        source = self._cached("input", memory)
        value = through(self.value_norm, through(self.value, source))
        if config.key == "query":
            key = query if memory is x else self._query(memory)
        elif config.key == "value":
            key = value
        else:
            key = through(self.key_norm, through(self.key, source))
        key, one = self._cached("key", key), key is query
        query = key if one else query
        if config.value == "key" or config.key == "value":
            return query, key, key
        if self.mf_value is not None:
            value = self.mf_value(query, key)
        return query, key, self._cached("value", value)

    def _cached(self, entry: str, rows: torch.Tensor) -> torch.Tensor:
        return through(self.cached[entry], rows) if entry in self.cached else rows

    def rows_to_cache(self, key: torch.Tensor, value: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the rows that later tokens need.

        Parameters
        ----------
        key, value : float tensor, shape [N, S, n * kv_heads]
            K and V as `rows` returns them.

        Returns
        -------
        dict of str to float tensor, shape [N, S, features]
            By the kinds of `config.cached`.
        """
        made = {"key": key, "value": value, "input": key if self.config.key == "input" else value}
        return {entry: made[entry] for entry in dict.fromkeys(self.config.cached)}

    def cached_rows(self, rows: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return K and V for the rows of a cache.

        Parameters
        ----------
        rows : mapping of str to float tensor, shape [N, S, features]
            As `rows_to_cache` returns them.

        Returns
        -------
        tuple of two float tensors, shape [N, S, n * kv_heads]
            K and V.
        """
        key, value = (rows[entry] for entry in self.config.cached)
        if self.config.value == "projection" and self.config.cached[1] == "input":
            value = through(self.value_norm, through(self.value, value))
        return key, value

    def _query(self, x: torch.Tensor) -> torch.Tensor:
        query = through(self.query, x)
        if len(self.chain):
            query = query.transpose(1, 2).unsqueeze(-1)
            for number, matrix in enumerate(self.chain):
                if number == len(self.chain) - 1:
                    query = through(self.relu, query)
                query = matrix(query)
            return through(self.query_norm, query).squeeze(-1).transpose(1, 2)
        return through(self.query_norm, query)

    def attend(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        rotate: Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]] | None = None,
        normalise: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> torch.Tensor:
        """Return the unit's output for rows of Q, K and V.

        Parameters
        ----------
        query : float tensor, shape [N, T, width]
        key, value : float tensor, shape [N, S, n * kv_heads]
        rotate : callable or None
            Takes queries and keys as heads [N, heads, tokens, n] and returns them rotated, in place of both
            rotations; None where the first rows of Q and K have the position 0.
        normalise : callable or None
            Takes scores [N, heads, T, S] and returns weights of that shape; None for the unit's normaliser.

        Returns
        -------
        float tensor, shape [N, T, width]
        """
        config = self.config
        queries = through(self.query_transform, self._heads(query, config.heads))
        same = key is query and self.query_transform is None
        plain = queries if same else self._heads(key, config.groups)
        keys = through(self.key_transform, plain)
        if self._shares_transform():
            values = keys
        else:
            values = through(self.value_transform, plain if value is key else self._heads(value, config.groups))
        if self.query_rope is not None and self.key_rope is not None:
            if rotate is None:
                queries, keys = self.query_rope(queries), self.key_rope(keys)
            else:
                queries, keys = rotate(queries, keys)
        weights = self._by_query(self.scores(self._by_key(queries), keys))
        weights = (self.normalise if normalise is None else normalise)(weights)
        result = self._by_query(self.aggregate(self._by_key(weights), values))
        return self._finish(result.transpose(1, 2).reshape(-1, query.shape[1], self.width))

    def _heads(self, rows: torch.Tensor, heads: int) -> torch.Tensor:
        return rows.reshape(-1, rows.shape[1], heads, self.n).transpose(1, 2)

    def _by_key(self, x: torch.Tensor) -> torch.Tensor:
        """Return [N, kv_heads, heads / kv_heads * T, .] of [N, heads, T, .]."""
        if self.config.groups == self.config.heads:
            return x
        return x.reshape(-1, self.config.groups, x.shape[1] * x.shape[2] // self.config.groups, x.shape[-1])

    def _by_query(self, x: torch.Tensor) -> torch.Tensor:
        """Undo `_by_key`."""
        if self.config.groups == self.config.heads:
            return x
        return x.reshape(-1, self.config.heads, x.shape[1] * x.shape[2] // self.config.heads, x.shape[-1])

    def _finish(self, rows: torch.Tensor) -> torch.Tensor:
        if self.hadamard is not None and self.affine is not None:
            mixed: torch.Tensor = self.affine(self.hadamard(rows)[..., : self.width])
            return mixed
        return through(self.output_norm, through(self.output, rows))

    def extra_repr(self) -> str:
        """Return the sizes for `print(model)`."""
        return f"{self.width}, tokens={self.tokens}, heads={self.config.heads}, kv_heads={self.config.groups}"
