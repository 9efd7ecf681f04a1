"""The generators of which a process has one: Python's, NumPy's and torch's.

Workers are copies of one process, and would draw the same from them, or what the cell before left.
So they start with every cell from its paper, experiment and seed, and each checkpoint holds their
states, which come back with it. What a module draws from them is then the same whoever computes
the cell, beside whichever others, and however often it is cut off.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import random
import sys
from typing import Any

import numpy as np

from reproaudit.files import decode_json

_HEAD = b"reproaudit generators "
"""Begins a checkpoint that has states, which are a line of JSON; then follows a module's own."""

MOST_POSITION = 624  # in NumPy's state; behind it there are no numbers left

_log = logging.getLogger(__name__)


def seed_generators(*parts: str | int) -> None:
    """Starts every generator from what identifies a cell, or what else is given."""
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    random.seed(int.from_bytes(digest, "little"))
    twister = np.random.MT19937(np.frombuffer(digest, dtype="<u4").tolist())
    np.random.set_bit_generator(twister)  # type: ignore[attr-defined]
    torch = sys.modules.get("torch")
    if torch is not None:
        # of every card, too; without a card that would keep a trace of the stack for each call
        seed = (
            torch.manual_seed if torch.cuda.is_available() else torch.default_generator.manual_seed
        )
        seed(int.from_bytes(digest[:8], "little"))


def with_states(checkpoint: bytes) -> bytes:
    """A checkpoint, with the generators' states before it."""
    states = json.dumps(_states(), default=np.ndarray.tolist).encode()
    return b"%s%s\n%s" % (_HEAD, states, checkpoint)


def restored(data: bytes) -> bytes | None:
    """The checkpoint in what `with_states` made, once the generators are as they were then.

    An earlier version's has no states, and leaves them. States that cannot be restored are left as
    well, and there is no checkpoint: its phase starts anew.
    """
    if not data.startswith(_HEAD):
        return data
    line, _, checkpoint = data.removeprefix(_HEAD).partition(b"\n")
    before = _states()
    try:
        _restore(decode_json(line))
    except Exception as error:  # what is none fails in any of a dozen ways
        _restore(before)
        _log.warning("a checkpoint has no states of generators (%s); its phase starts anew", error)
        return None
    return checkpoint


def _states() -> dict[str, Any]:
    """The states by library; of torch as text, by device."""
    states: dict[str, Any] = {
        "python": random.getstate(),
        "numpy": np.random.get_state(legacy=False),
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        states["torch"] = _as_text(torch.get_rng_state())
        cards = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
        states["cuda"] = list(map(_as_text, cards))
    return states


def _restore(states: dict[str, Any]) -> None:
    version, words, gauss = states["python"]
    random.setstate((version, tuple(words), gauss))
    if not 0 <= states["numpy"]["state"].get("pos", 0) <= MOST_POSITION:
        raise ValueError("NumPy's position is none")  # NumPy itself reads there unasked
    np.random.set_state(states["numpy"])
    torch = sys.modules.get("torch")
    if torch is None or "torch" not in states:
        return
    torch.set_rng_state(_from_text(torch, states["torch"]))
    for card, text in enumerate(states["cuda"][: torch.cuda.device_count()]):
        torch.cuda.set_rng_state(_from_text(torch, text), card)


def _as_text(state: Any) -> str:
    return base64.b64encode(state.numpy().tobytes()).decode()


def _from_text(torch: Any, text: str) -> Any:
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)
