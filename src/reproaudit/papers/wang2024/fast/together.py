"""The fast form for a card: several seeds' layers and nets trained at once, in PyTorch.

Batches are those of `reproaudit.papers.wang2024.sampling`, drawn on the card by the same integers
and the same single-precision operations. The loss is written from the equation, with the sums over
codes as matrix products and gradients from autograd; no sum depends on the order in which threads
arrive, since positions are picked by products with indicators. Tests hold it against the compiled
form on the processor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float32, Int64
from torch import Tensor

from reproaudit.lab import Array
from reproaudit.papers.wang2024 import sampling
from reproaudit.papers.wang2024.fast.structures import Sgd, Weights
from reproaudit.papers.wang2024.fully_connected import Net, NetSgd, net_outputs
from reproaudit.papers.wang2024.task import BatchLaw, SampleBatch


def _signed(word: int) -> int:
    """The 64 bits of a word as the integer that PyTorch has for them."""
    return (word & (2**64 - 1)) - (2**64 if word & 2**63 else 0)


_GOLDEN, _STEP = int(sampling._GOLDEN), int(sampling._STEP)
_MIX_1, _MIX_2 = _signed(int(sampling._MIX_1)), _signed(int(sampling._MIX_2))


# -------------------------------------------------------------------------------------- sampling


def _shifted(z: Int64[Tensor, "*axes"], bits: int) -> Int64[Tensor, "*axes"]:
    """The logical shift to the right."""
    return torch.bitwise_and(z >> bits, 2 ** (64 - bits) - 1)


def _mix(z: Int64[Tensor, "*axes"]) -> Int64[Tensor, "*axes"]:
    z = (z ^ _shifted(z, 30)) * _MIX_1
    z = (z ^ _shifted(z, 27)) * _MIX_2
    return z ^ _shifted(z, 31)


def _child(key: Int64[Tensor, "*axes"], index: int) -> Int64[Tensor, "*axes"]:
    inner = torch.full_like(key, _signed(index * _STEP + _GOLDEN))
    return _mix(key ^ _mix(inner))


def _words(key: Int64[Tensor, " seed"], count: int, first: int = 0) -> Int64[Tensor, "seed word"]:
    """Words number ``first`` and the following ones under a key."""
    counter = torch.arange(first + 1, first + count + 1, device=key.device) * _signed(_GOLDEN)
    return _mix(key[:, None] + counter)


def _log(u: Float32[Tensor, "*axes"]) -> Float32[Tensor, "*axes"]:
    bits = u.view(torch.int32) - 0x3F3504F3
    exponent = bits >> 23
    mantissa = ((bits & 0x007FFFFF) + 0x3F3504F3).view(torch.float32)
    t = (mantissa - 1) / (mantissa + 1)
    s = t * t
    series = torch.full_like(s, 2 / 9)
    for coefficient in (2 / 7, 2 / 5, 2 / 3, 2.0):
        series = series * s + float(np.float32(coefficient))
    return exponent.to(torch.float32) * float(np.float32(0.6931471805599453)) + series * t


def _block(words: Int64[Tensor, "seed block word"]) -> Float32[Tensor, "seed normal"]:
    """Two normals from each word, block by block."""
    bits = words.contiguous().view(torch.int32)
    high, low = bits.chunk(2, dim=-1)
    u = (high & 0x7FFFFFFF).to(torch.float32) * 2.0**-31
    radius = torch.sqrt(-2.0 * _log(u + 2.0**-32))
    angle = (low >> 8).to(torch.float32) * float(np.float32(np.pi / 4 / 2**23))
    s = angle * angle
    sine, cosine = torch.full_like(s, 1 / 362880), torch.full_like(s, 1 / 40320)
    for coefficient in (-1 / 5040, 1 / 120, -1 / 6, 1.0):
        sine = sine * s + float(np.float32(coefficient))
    for coefficient in (-1 / 720, 1 / 24, -1 / 2, 1.0):
        cosine = cosine * s + float(np.float32(coefficient))
    sine = sine * angle
    signed = radius * (1 - ((low & 1) << 1)).to(torch.float32)
    reflect = (low & 2) != 0
    pair = torch.where(reflect, sine, cosine), torch.where(reflect, cosine, sine)
    return torch.cat([signed * pair[0], signed * pair[1]], dim=-1).flatten(1)


def normals(key: Int64[Tensor, " seed"], count: int) -> Float32[Tensor, "seed {count}"]:
    """Standard normals, those of `sampling.fill_normals`."""
    pairs = count // 2
    whole = pairs // sampling.BLOCK * sampling.BLOCK
    words = _words(key, pairs)
    parts = [_block(words[:, :whole].reshape(len(key), -1, sampling.BLOCK))] if whole else []
    if pairs > whole:
        parts.append(_block(words[:, None, whole:]))
    if count % 2:
        parts.append(_block(_words(key, 1, pairs)[:, None])[:, :1])
    return torch.cat(parts, dim=1)


def subsets(
    stream: Int64[Tensor, " seed"], positions: int, samples: int, q: int
) -> Int64[Tensor, "seed {samples} {q}"]:
    """Subsets of the positions, those of `sampling.fill_subsets` with this stream's key."""
    words = _shifted(_words(stream, samples * q), 32).reshape(-1, samples, q)
    chosen: list[Tensor] = []
    for k in range(q):
        last = positions - q + k
        pick = (words[:, :, k] * (last + 1)) >> 32
        for earlier in chosen:
            pick = torch.where(earlier == pick, last, pick)
        chosen.append(pick)
    return torch.stack(chosen, dim=2)


def codes(
    key: Int64[Tensor, " seed"], law: BatchLaw, groups: int, positions: int, d_e: int
) -> Float32[Tensor, "seed {groups} {positions} {d_e}"]:
    """Positional codes, those of `sampling.fill_codes`; on a sphere, to the last bits."""
    flat = normals(key, groups * positions * d_e)
    if law.code_law == sampling.SIGNS:
        flat = torch.where(flat >= 0, 1.0, -1.0)
    drawn = flat.reshape(-1, groups, positions, d_e)
    if law.code_law == sampling.SPHERE:
        drawn = drawn * (d_e**0.5 / drawn.norm(dim=3, keepdim=True))
    return torch.mul(drawn, float(np.float32(law.code_scale)))


class _Batches(NamedTuple):
    """A batch of each seed; positions are given by indicators."""

    X: Float[Tensor, "seed batch d T"]
    queried: Float[Tensor, "seed batch T"]
    E: Float[Tensor, "seed groups T d_e"]
    targets: Float[Tensor, "seed batch d"]


class _Draw(NamedTuple):
    """The law by which batches are drawn: of each seed, sizes, and the codes where they stay."""

    laws: Sequence[BatchLaw]
    empty: SampleBatch
    fixed: Float[Tensor, "seed 1 T d_e"] | None

    def batches(self, key: Int64[Tensor, " seed"], dtype: torch.dtype) -> _Batches:
        """The batches of one step, as `task.fill_batch` draws them."""
        law = self.laws[0]
        samples, d, T = self.empty.X.shape
        q, groups = self.empty.selected.shape[1], len(self.empty.E)
        X = normals(_child(key, sampling.TOKENS), samples * d * T).reshape(-1, samples, d, T)
        if law.subset_key != np.uint64(0):
            shared = [_signed(int(one.subset_key)) for one in self.laws]
            stream = _child(torch.tensor(shared, device=key.device), sampling.SUBSETS)
            selected = subsets(stream, T, 1, q).expand(-1, samples, -1)
        else:
            selected = subsets(_child(key, sampling.SUBSETS), T, samples, q)
        queried = selected
        if law.other_query:
            queried = subsets(_child(key, sampling.OTHER_SUBSETS), T, samples, q)
        E = self.fixed
        if E is None:
            E = codes(_child(key, sampling.CODES), law, groups, T, self.empty.E.shape[2])
        X = X.to(dtype)
        means = (X @ _indicators(selected, T, dtype).unsqueeze(3)).squeeze(3) / q
        targets = means.roll(-1, dims=2) if law.turned_targets else means
        return _Batches(X, _indicators(queried, T, dtype), E.to(dtype), targets)


def _indicators(
    positions: Int64[Tensor, "seed batch q"], T: int, dtype: torch.dtype
) -> Float[Tensor, "seed batch T"]:
    return torch.nn.functional.one_hot(positions, T).sum(dim=2).to(dtype)


# ----------------------------------------------------------------------------------------- layers


def _mixed(
    rows: Float[Tensor, "seed batch T"], E: Float[Tensor, "seed groups T d_e"]
) -> Float[Tensor, "seed batch d_e"]:
    """Sums of the codes, weighted by the rows."""
    if E.shape[1] == 1:
        return rows @ E[:, 0]
    return (rows.unsqueeze(2) @ E).squeeze(2)


def _against(
    vectors: Float[Tensor, "seed batch d_e"], E: Float[Tensor, "seed groups T d_e"]
) -> Float[Tensor, "seed batch T"]:
    """Products of the vectors with every code."""
    if E.shape[1] == 1:
        return vectors @ E[:, 0].mT
    return (E @ vectors.unsqueeze(3)).squeeze(3)


def loss_of_layers(
    batches: _Batches, blocks: Sequence[Tensor], attend_query: bool, factor: float
) -> Float[Tensor, " seed"]:
    """The training loss of each seed; the blocks are B, D, V_x and V_e with an axis for seeds."""
    B, D, V_x, V_e = blocks
    X, E = batches.X, batches.E
    asked = _mixed(batches.queried, E)
    key = asked @ D.mT
    scores = _against(key, E) + ((asked @ B.mT).unsqueeze(2) @ X).squeeze(2)
    if attend_query:
        scores = torch.cat([scores, (asked * key).sum(dim=2, keepdim=True)], dim=2)
    attention = torch.softmax(scores, dim=2)
    tokens = attention[:, :, : X.shape[3]]
    pooled = _mixed(tokens, E)
    if attend_query:
        pooled = pooled + attention[:, :, -1:] * asked
    output = (X @ tokens.unsqueeze(3)).squeeze(3) @ V_x.mT + pooled @ V_e.mT
    return factor * (output - batches.targets).square().sum(dim=2).mean(dim=1)


def train_layers(
    start: int,
    stop: int,
    hows: Sequence[Sgd],
    scratch: Sequence[SampleBatch],
    weights: Sequence[Weights],
    device: str,
) -> None:
    """Steps ``start`` to ``stop − 1`` of every seed's layer, in place.

    Args:
        start: first step.
        stop: one past the last.
        hows: the training of each seed; they differ in their keys alone.
        scratch: of each seed, room for a batch, with the codes in it where they are not redrawn.
        weights: what is trained, of each seed.
        device: ``"cuda"`` or ``"cpu"``.
    """
    how, laws = hows[0], [one.law for one in hows]
    fixed = None
    if not how.law.redraw_codes:
        fixed = torch.from_numpy(np.stack([one.E for one in scratch])).to(device)

    def loss(key: Tensor, blocks: Sequence[Tensor]) -> Tensor:
        drawn = _Draw(laws, scratch[0], fixed).batches(key, blocks[0].dtype)
        return loss_of_layers(drawn, blocks, how.attend_query, how.factor)

    trained = [[one.B, one.D, one.V_x, one.V_e] for one in weights]
    _descend(start, stop, hows, trained, loss, device)


# ------------------------------------------------------------------------------------------- nets


def train_nets(
    start: int,
    stop: int,
    hows: Sequence[NetSgd],
    scratch: Sequence[SampleBatch],
    nets: Sequence[Net],
    device: str,
) -> None:
    """Steps ``start`` to ``stop − 1`` of every seed's net, in place; see `train_layers`."""
    how, laws = hows[0], [one.law for one in hows]
    T = scratch[0].X.shape[2]

    def loss(key: Tensor, blocks: Sequence[Tensor]) -> Tensor:
        unused = blocks[0].new_zeros(len(nets), 1, T, 1)
        drawn = _Draw(laws, scratch[0], unused).batches(key, blocks[0].dtype)
        asked = drawn.queried
        if not how.multi_hot:
            q = scratch[0].selected.shape[1]
            asked = asked.topk(q, dim=2).indices.sort(dim=2).values.to(asked.dtype) / T
        inputs = torch.cat([drawn.X.flatten(2), asked], dim=2)
        W_in, W_mid, W_out, b_hidden, b_out = blocks
        outputs = net_outputs(
            inputs,
            [
                (W_in, b_hidden[:, :1]),
                *((W_mid[:, i], b_hidden[:, i + 1, None]) for i in range(W_mid.shape[1])),
            ],
            W_out,
            b_out[:, None],
        )
        return how.factor * (outputs - drawn.targets).square().sum(dim=2).mean(dim=1)

    _descend(start, stop, hows, [list(net) for net in nets], loss, device)


def _descend(
    start: int,
    stop: int,
    hows: Sequence[Sgd] | Sequence[NetSgd],
    blocks: Sequence[Sequence[Array]],
    loss: Callable[[Tensor, Sequence[Tensor]], Tensor],
    device: str,
) -> None:
    """Gradient descent on a loss of each seed, whose blocks are changed in place."""
    how = hows[0]
    keys = torch.tensor([_signed(int(one.key)) for one in hows], device=device)
    together = [np.stack(several) for several in zip(*blocks, strict=True)]
    trained = [torch.from_numpy(one).to(device).requires_grad_() for one in together]
    moving = [one for one in trained if one.numel()]
    for step in range(start, stop):
        rate = how.rate if step < how.anneal_at else how.annealed_rate
        gradients = torch.autograd.grad(loss(_child(keys, step), trained).sum(), moving)
        with torch.no_grad():
            for block, gradient in zip(moving, gradients, strict=True):
                block.sub_(rate * gradient)
    for several, after in zip(zip(*blocks, strict=True), trained, strict=True):
        for block, one in zip(several, after.detach().cpu().numpy(), strict=True):
            block[...] = one
