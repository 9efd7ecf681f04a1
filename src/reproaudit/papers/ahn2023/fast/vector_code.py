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

from reproaudit.papers.ahn2023.fast.prompts import lanes_of

Number = str
"""A vector of floating-point numbers, by its name in the assembly."""

Word = str
"""A vector of 32-bit words, by its name in the assembly."""

Mask = str
"""A vector of truth values, by its name in the assembly."""


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
        self._words = f"<{self.lanes} x i32>"
        self._suffix = f"v{self.lanes}f{8 * self.dtype.itemsize}"
        self._pointers, self._rows = tuple(pointers), rows
        self._lines: list[str] = []
        self._count = itertools.count()
        self._declared = {self._declaration("fma", 3)}

    # --- numbers

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
        kind, order = self._vector, f"{self._words} zeroinitializer"
        return self._let(f"shufflevector {kind} {one}, {kind} undef, {order}")

    def constant(self, value: float) -> Number:
        """The same constant in every lane."""
        rounded = np.asarray(value, self.dtype).item()
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

    def subtract(self, a: Number, b: Number) -> Number:
        """The difference a − b."""
        return self._let(f"fsub {self._vector} {a}, {b}")

    def divide(self, a: Number, b: Number) -> Number:
        """The quotient a / b."""
        return self._let(f"fdiv {self._vector} {a}, {b}")

    def negative(self, a: Number) -> Number:
        """The number −a."""
        return self._let(f"fneg {self._vector} {a}")

    def square_root(self, a: Number) -> Number:
        """The root of a, rounded correctly."""
        self._declared.add(self._declaration("sqrt", 1))
        return self._let(f"call {self._vector} @llvm.sqrt.{self._suffix}({self._vector} {a})")

    # --- 32-bit words, one per lane

    def word(self, value: int) -> Word:
        """The same constant in every lane."""
        return "<" + ", ".join([f"i32 {value}"] * self.lanes) + ">"

    def spread_word(self, pointer: str, place: int) -> Word:
        """One stored word, the same in every lane."""
        at = self._let(f"getelementptr i32, ptr %{pointer}, i64 {place}")
        return self._spread_scalar_word(self._let(f"load i32, ptr {at}"))

    def prompt_numbers(self) -> Word:
        """The number of each prompt of the group, counted from the first group."""
        group = self._let("trunc i64 %group to i32")
        first = self._spread_scalar_word(self._let(f"mul i32 {group}, {self.lanes}"))
        lanes = "<" + ", ".join(f"i32 {lane}" for lane in range(self.lanes)) + ">"
        return self.add_words(first, lanes)

    def add_words(self, a: Word, b: Word) -> Word:
        """The sum a + b modulo 2³²."""
        return self._let(f"add {self._words} {a}, {b}")

    def subtract_words(self, a: Word, b: Word) -> Word:
        """The difference a − b modulo 2³²."""
        return self._let(f"sub {self._words} {a}, {b}")

    def exclusive_or(self, a: Word, b: Word) -> Word:
        """Bit by bit, where a and b differ."""
        return self._let(f"xor {self._words} {a}, {b}")

    def shift_right(self, a: Word, bits: int) -> Word:
        """The word with so many low bits shifted out, zeros shifted in."""
        return self._let(f"lshr {self._words} {a}, {self.word(bits)}")

    def shift_left(self, a: Word, bits: int) -> Word:
        """The word with so many high bits shifted out, zeros shifted in."""
        return self._let(f"shl {self._words} {a}, {self.word(bits)}")

    def rotate_left(self, a: Word, bits: int) -> Word:
        """The word with its bits moved up in a circle."""
        name = f"@llvm.fshl.v{self.lanes}i32"
        kind = self._words
        self._declared.add(f"declare {kind} {name}({kind}, {kind}, {kind})")
        return self._let(f"call {kind} {name}({kind} {a}, {kind} {a}, {kind} {self.word(bits)})")

    def number_of_word(self, a: Word, signed: bool = False) -> Number:
        """The word as a number, from 0 to 2³² − 1 or, signed, from −2³¹ to 2³¹ − 1."""
        kind = "sitofp" if signed else "uitofp"
        return self._let(f"{kind} {self._words} {a} to {self._vector}")

    def has_bit(self, a: Word, bit: int) -> Mask:
        """For each lane, whether this bit is set; for `select`."""
        masked = self._let(f"and {self._words} {a}, {self.word(1 << bit)}")
        return self._let(f"icmp ne {self._words} {masked}, zeroinitializer")

    def equal_words(self, a: Word, b: Word) -> Mask:
        """For each lane, whether two words are equal; for `select_word`."""
        return self._let(f"icmp eq {self._words} {a}, {b}")

    def select(self, which: Mask, a: Number, b: Number) -> Number:
        """For each lane a where chosen, else b."""
        kind = self._vector
        return self._let(f"select <{self.lanes} x i1> {which}, {kind} {a}, {kind} {b}")

    def select_word(self, which: Mask, a: Word, b: Word) -> Word:
        """For each lane a where chosen, else b."""
        kind = self._words
        return self._let(f"select <{self.lanes} x i1> {which}, {kind} {a}, {kind} {b}")

    def split(self, a: Number) -> tuple[Number, Number]:
        """The m and e of a = m 2^e for a positive a, m from √½ to √2; not for denormal numbers."""
        bits, fraction = (32, 23) if self.dtype.itemsize == 4 else (64, 52)
        kind = f"<{self.lanes} x i{bits}>"
        root = np.array(np.sqrt(0.5), self.dtype).view(f"i{bits // 8}").item()

        def constant(value: int) -> str:
            return "<" + ", ".join([f"i{bits} {value}"] * self.lanes) + ">"

        word = self._let(f"bitcast {self._vector} {a} to {kind}")
        above = self._let(f"sub {kind} {word}, {constant(root)}")
        exponent = self._let(f"ashr {kind} {above}, {constant(fraction)}")
        shifted = self._let(f"shl {kind} {exponent}, {constant(fraction)}")
        rest = self._let(f"sub {kind} {word}, {shifted}")
        mantissa = self._let(f"bitcast {kind} {rest} to {self._vector}")
        return mantissa, self._let(f"sitofp {kind} {exponent} to {self._vector}")

    # --- the function

    def _declaration(self, name: str, arguments: int) -> str:
        of = ", ".join([self._vector] * arguments)
        return f"declare {self._vector} @llvm.{name}.{self._suffix}({of})"

    def _spread_scalar_word(self, scalar: str) -> Word:
        kind = self._words
        one = self._let(f"insertelement {kind} undef, i32 {scalar}, i32 0")
        return self._let(f"shufflevector {kind} {one}, {kind} undef, {kind} zeroinitializer")

    def _let(self, operation: str) -> Number:
        name = f"%n{next(self._count)}"
        self._lines.append(f"{name} = {operation}")
        return name

    def assembly(self, name: str) -> str:
        """The function ``void name(pointers …, i64 groups)`` that runs the body for each group."""
        first, arguments = self._pointers[0], ", ".join(f"ptr %{p}" for p in self._pointers[1:])
        body = "\n  ".join(self._lines)
        vector, declared = self._vector, "\n".join(sorted(self._declared))
        return f"""
{declared}

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
