"""Writes straight-line vector code as LLVM assembly, and compiles it for this processor.

A number in this code is a vector with one lane per prompt, so that one instruction computes the
same scalar operation for a whole group of prompts. Multiply-adds are written out as such: the
compiler is left no choice of what to contract, so the bits do not depend on how it optimises.

The code is compiled by llvmlite at run time, in a fraction of a second, and kept for the life of
the process. Nothing of it is written to disk, so no stale copy can be found there.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Sequence
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numpy.typing import DTypeLike

VECTOR_BYTES = 64
"""Bytes in a vector: 16 lanes of float32 or 8 of float64.

One register on a wide processor; the compiler splits it where registers are narrower.
"""

Number = str
"""The name of a vector value in the assembly."""


def lanes_of(dtype: DTypeLike) -> int:
    """How many prompts one vector of this precision holds."""
    return VECTOR_BYTES // np.dtype(dtype).itemsize


class VectorCode:
    """The body of a loop over groups of prompts, written instruction by instruction.

    Args:
        dtype: float32 or float64.
        pointers: names of the function's array arguments. The first one holds the groups.
        rows: vectors per group in the first array.
    """

    def __init__(self, dtype: DTypeLike, pointers: Sequence[str], rows: int) -> None:
        self.dtype = np.dtype(dtype)
        self.lanes = lanes_of(dtype)
        self._scalar = {4: "float", 8: "double"}[self.dtype.itemsize]
        self._vector = f"<{self.lanes} x {self._scalar}>"
        self._suffix = f"v{self.lanes}f{8 * self.dtype.itemsize}"
        self._pointers, self._rows = tuple(pointers), rows
        self._lines: list[str] = []
        self._count = itertools.count()

    def load(self, pointer: str, row: int) -> Number:
        """The vector in a row of an array."""
        place = self._let(f"getelementptr {self._vector}, ptr %{pointer}, i64 {row}")
        return self._let(f"load {self._vector}, ptr {place}, align {self.dtype.itemsize}")

    def store(self, number: Number, pointer: str, row: int) -> None:
        """Writes a vector to a row of an array."""
        place = self._let(f"getelementptr {self._vector}, ptr %{pointer}, i64 {row}")
        kind = f"{self._vector} {number}, ptr {place}"
        self._lines.append(f"store {kind}, align {self.dtype.itemsize}")

    def spread(self, pointer: str, place: int) -> Number:
        """One stored number, the same in every lane."""
        at = self._let(f"getelementptr {self._scalar}, ptr %{pointer}, i64 {place}")
        scalar = self._let(f"load {self._scalar}, ptr {at}")
        one = self._let(f"insertelement {self._vector} undef, {self._scalar} {scalar}, i32 0")
        order = f"<{self.lanes} x i32> zeroinitializer"
        return self._let(f"shufflevector {self._vector} {one}, {self._vector} undef, {order}")

    def constant(self, value: float) -> Number:
        """The same constant in every lane."""
        rounded = float(self.dtype.type(value))
        bits = struct.unpack("<Q", struct.pack("<d", rounded))[0]
        return "<" + ", ".join([f"{self._scalar} 0x{bits:016X}"] * self.lanes) + ">"

    def add(self, a: Number, b: Number) -> Number:
        """The sum a + b."""
        return self._let(f"fadd {self._vector} {a}, {b}")

    def multiply(self, a: Number, b: Number) -> Number:
        """The product a b."""
        return self._let(f"fmul {self._vector} {a}, {b}")

    def multiply_add(self, a: Number, b: Number, c: Number) -> Number:
        """The sum a b + c, rounded once."""
        of = ", ".join(f"{self._vector} {number}" for number in (a, b, c))
        return self._let(f"call {self._vector} @llvm.fma.{self._suffix}({of})")

    def _let(self, operation: str) -> Number:
        name = f"%n{next(self._count)}"
        self._lines.append(f"{name} = {operation}")
        return name

    def assembly(self, name: str) -> str:
        """The function ``void name(pointers …, i64 groups)`` that runs the body for each group."""
        first, arguments = self._pointers[0], ", ".join(f"ptr %{p}" for p in self._pointers[1:])
        body = "\n  ".join(self._lines)
        vector = self._vector
        return f"""
declare {vector} @llvm.fma.{self._suffix}({vector}, {vector}, {vector})

define void @{name}(ptr %all, {arguments}, i64 %groups) {{
begin:
  br label %body
body:
  %group = phi i64 [0, %begin], [%next, %body]
  %row = mul i64 %group, {self._rows}
  %{first} = getelementptr {vector}, ptr %all, i64 %row
  {body}
  %next = add i64 %group, 1
  %more = icmp slt i64 %next, %groups
  br i1 %more, label %body, label %end
end:
  ret void
}}
"""


class CompiledCode:
    """Machine code of one function, for as long as this object lives.

    Attributes:
        address: where the function starts.
    """

    def __init__(self, assembly: str, name: str) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(),
            features=llvm.get_host_cpu_features().flatten(),
            opt=1,  # as fast as 3 for straight-line code, and compiled in half the time
            jit=True,
        )
        self._engine: Any = llvm.create_mcjit_compiler(llvm.parse_assembly(assembly), machine)
        self._engine.finalize_object()
        self.address: int = self._engine.get_function_address(name)
