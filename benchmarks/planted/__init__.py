"""Planted worlds: training logs whose truth is known, judged by the tool as any others.

A world is a claim, an audit's check of it, a generator of logs, and the answer that a fair expert
would give from these logs. About half are look-alikes, in which the claim is false and the logs
seem to say otherwise. Labels, bounds and noise were fixed before any of them was judged. ``make
planted`` judges them all and prints how often the tool is wrong, and how sure it then was.
"""

from __future__ import annotations

from . import comparisons, further, laws, mechanisms
from .world import WORLDS, World

__all__ = ["WORLDS", "World", "comparisons", "further", "laws", "mechanisms"]
