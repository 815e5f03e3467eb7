"""Values within the range and the sign of a problem's own draw that operands of 11 bits, or of 8,
lose: a candidate that computes exactly only where inputs look unlike the problem's is found.

A long sum of own values averages out what narrow operands lose. So a sum has a few large terms
among small ones that count for nothing together; or, where it is short enough, all values have low
bits that round to one side. In a long sum such values round one accumulator of float32 to one side,
too: they are not asked there. Nor are small ones where the range is away from zero."""

import math

import torch

FEW = 3  # large values in a sum
SMALL_BITS = {torch.float32: 18, torch.float64: 47}  # of the sum of all others, below a large one
SHORT = 1 << 11  # terms of a sum that has not 2^13 times the size of one of them
NEAR_ZERO = 16  # ends of a range that touches zero, by their ratio
LEANS = ((0x1FFF, 0x0FF0), (0xFFFF, 0x7FF0))  # low bits that are replaced, and by what
PIECE = 1 << 22  # elements at a time
LARGE = 1 << 26  # elements of which there is not room for two


def _few_large(t, terms, to):
    """Most are made small, all have full significands."""
    full = t * (1 - torch.rand(t.shape, dtype=t.dtype, **to) * 2.0 ** -10)
    small = full * 2.0 ** -(SMALL_BITS[t.dtype] + math.ceil(math.log2(terms)))
    return torch.where(torch.rand(t.shape, **to) < FEW / terms, full, small)


def _leaning(t, to):
    """Half of them are rounded down to 11 bits, the others to 8, and lose nearly half of the last
    one."""
    bits = t.contiguous().view(torch.int32)
    noise = torch.randint(0, 16, t.shape, dtype=torch.int32, **to)
    (mask, low), (wide_mask, wide_low) = LEANS
    which = torch.rand(t.shape, **to) < 0.5
    bits = torch.where(which, bits & ~mask | low, bits & ~wide_mask | wide_low) + noise
    return bits.view(torch.float32)


def range_of(t):
    """The least and the largest value."""
    return tuple(float(end) for end in torch.aminmax(t))


def _touches_zero(ends):
    least, most = sorted((abs(end) for end in ends))
    return ends[0] <= 0 <= ends[1] or least * NEAR_ZERO < most


def leans(t, ends, terms, seed):
    """Is it the low bits that change, and not sizes?"""
    short = terms <= SHORT and t.dtype is torch.float32
    return short and (not _touches_zero(ends) or seed % 2 == 1)


def values(t, ends, terms, seed, to):
    """New values for all of t. ends: of the range of those that are drawn."""
    if leans(t, ends, terms, seed):
        return _leaning(t, to).clamp(*ends)
    return _few_large(t, terms, to) if _touches_zero(ends) else t


def _each_piece(t, seed, new):
    """Of a draw without structure: another tensor, or where it is large the same one. new makes
    values of a piece's."""
    made = t if t.numel() > LARGE and t.is_contiguous() else t.clone()
    to = {"generator": torch.Generator(device=t.device).manual_seed(seed), "device": t.device}
    for piece in made.view(-1).split(PIECE) if made.is_contiguous() else [made]:
        piece.copy_(new(piece, to))
    return made


def changed(t, ends, terms, seed):
    return _each_piece(t, seed, lambda piece, to: values(piece, ends, terms, seed, to))


def leaning(t, seed):
    """The low bits of float32 lean, whatever the range is. Other types stay."""
    if t.dtype is not torch.float32:
        return t
    ends = range_of(t)
    return _each_piece(t, seed, lambda piece, to: _leaning(piece, to).clamp(*ends))
