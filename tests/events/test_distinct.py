"""The estimate of ``distinct`` over many seeds and cardinalities: no bias, and the error that the docs state."""

from __future__ import annotations

import math
import random

import pytest

from btpy.events.sketches import HIGHEST_RANK, REGISTER_BITS, Distinct

REGISTERS = 1 << REGISTER_BITS
STANDARD_ERROR = 1.04 / math.sqrt(REGISTERS)
SEEDS = 200

FEW = (0, 1, 2, 10, 30, 100, 300)
AROUND_5120 = (*range(3_500, 8_001, 500), 5_003, 5_100, 5_120, 5_140)
MANY = (700, 1_500, 2_500, 10_007, 20_000, 50_000, 100_000, 300_000, 1_000_000)


def registers(values: int, chance: random.Random) -> bytes:
    """The registers after this number of values with random hashes.

    The highest rank of n values is below r with the chance
    (1 - 2**-r)**n, so one random number gives it.
    """
    random_number, parts = chance.random, math.frexp
    ranks = bytearray(REGISTERS)
    for register, inside in enumerate(occupancies(values, chance)):
        if inside:
            above = 1 - random_number() ** (1 / inside)
            rank = 1 - parts(above)[1] if above else HIGHEST_RANK  # the leading zeros of the fraction, and one
            ranks[register] = rank if rank < HIGHEST_RANK else HIGHEST_RANK
    return bytes(ranks)


def occupancies(values: int, chance: random.Random) -> list[int]:
    """The number of values in each register, by splitting the values in two again and again. Each value tosses a coin,
    and the ones among random bits are the heads.
    """
    random_bits = chance.getrandbits
    counts = [values]
    while len(counts) < REGISTERS:
        halves = [random_bits(count).bit_count() if count else 0 for count in counts]
        counts = [part for count, one in zip(counts, halves, strict=True) for part in (one, count - one)]
    return counts


def errors(values: int) -> list[float]:
    """The error for each seed, as a fraction of the true number."""
    estimates = [
        Distinct(values, registers(values, random.Random(values * 1_000 + seed))).estimate for seed in range(SEEDS)
    ]
    return [estimate / values - 1 for estimate in estimates]


@pytest.mark.parametrize("values", [*FEW[2:], *AROUND_5120, *MANY])
def test_bias_and_error(values: int) -> None:
    of_seeds = errors(values)
    bias = sum(of_seeds) / SEEDS
    rms = math.sqrt(sum(error**2 for error in of_seeds) / SEEDS)
    assert abs(bias) < 4 * STANDARD_ERROR / math.sqrt(SEEDS)  # the random deviation of an unbiased estimator
    assert rms < STANDARD_ERROR * (1 + 4 / math.sqrt(2 * SEEDS))


@pytest.mark.parametrize("values", [0, 1])
def test_none_and_one_are_exact(values: int) -> None:
    for seed in range(SEEDS):
        assert Distinct(values, registers(values, random.Random(seed))).estimate == values


def test_full_registers_are_no_division_by_zero() -> None:
    assert Distinct(1, bytes([HIGHEST_RANK]) * REGISTERS).estimate > 1 << 60
