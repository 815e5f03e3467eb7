"""Values of a law for inputs with structure, which the judge's own generators would break: within
the zeros of a mask, mirrored, the same for two inputs; or the problem's own values, scaled.

They begin with the problem's own draw. Two draws tell the places whose values never change (zeros,
the ones of a diagonal): these stay. What has no law here keeps its own values.

Inputs without structure are the judge's to fill. Only those whose own law it does not know are
raised here."""

import math

import torch

from . import inside, layout, wire

FULL_BITS = {torch.float64: 52, torch.float32: 23, torch.bfloat16: 7, torch.float16: 10}
SPIKE = 1e4
SCALES = {"large": 2.0 ** 10, "small": 2.0 ** -4}
TOUCHES = {"touched", "touched-elsewhere"}
HALF_MOST = 3e4  # as device_touch.c
SD = {"small": 0.1, "large": 1e3}
OF_ONE = {"single-edit", "inside"}  # laws of one input, and of those that equal it
WITHIN = {"zeros", "symmetric", "equal"}  # the judge's laws may fill the rest


def _sign(shape, to):
    return torch.randint(0, 2, shape, **to) * 2 - 1


def _full(t, to):
    """+-[1, 2) with the last bit of the significand set."""
    steps = 1 << (FULL_BITS[t.dtype] - 1)
    odd = torch.randint(0, steps, t.shape, **to).double() * 2 + 1
    return (odd / (2 * steps) + 1) * _sign(t.shape, to)


def _heavy(t, to):
    spread = 1 - torch.rand(t.shape, **to)
    return (torch.randn(t.shape, **to) / spread.sqrt()).clamp(-1e4, 1e4)


def _spike(t, to, ends):
    values = _uniform(t, to, ends)
    at = int(torch.randint(0, t.numel(), (1,), **to))
    values.view(-1)[at] = SPIKE
    return values


def _uniform(t, to, ends):
    low, high = ends
    return torch.rand(t.shape, **to) * ((high - low) or 1) + low


def _values(law, t, to, ends):
    """New values for all of t."""
    if law == "precision":
        return _full(t, to)
    if law in ("uniform", "spike"):
        return (_uniform if law == "uniform" else _spike)(t, to, ends)
    if law == "heavy":
        return _heavy(t, to)
    if law == "smallint":
        return torch.randint(-8, 9, t.shape, **to)
    if law == "wideint":
        return torch.randint(2048, 4096, t.shape, **to) * _sign(t.shape, to)
    if law == "equal":
        value = torch.randn(1, **to)
        return (value + torch.copysign(torch.full_like(value, 0.5), value)).expand(t.shape).clone()
    values = torch.randn(t.shape, **to)
    if law == "bf16":
        return values.bfloat16()
    if law == "sparse":
        return values * (torch.rand(t.shape, **to) < 0.05)
    return values * SD.get(law, 1) + (1e3 if law == "offset" else 0)


def _stays(one, other):
    """Places whose values are the same in both draws, or no numbers."""
    return (one == other) | ~torch.isfinite(one)


def _mirror(t):
    return t.triu() + t.triu(1).transpose(-1, -2)


def _positive_diagonal(one, other, free):
    """Only the diagonal has a sign: that of a Cholesky factor."""
    if one.dim() < 2 or one.shape[-1] != one.shape[-2]:
        return False
    ends = [t.diagonal(dim1=-2, dim2=-1) for t in (one, other)]
    return all(bool((t > 0).all()) for t in ends) and bool((one[free] < 0).any())


def _filled(law, one, other, kinds, seed, chosen, terms):
    """The law's values in all places that may have them."""
    generator = torch.Generator(device=one.device).manual_seed(seed)
    to = {"generator": generator, "device": one.device}
    stays = _stays(one, other)
    free = ~stays
    if not bool(free.any()):
        return one
    if law == "precision" and not chosen:
        values = torch.full_like(one, 2.0 ** (seed % 5 - 2))
    else:
        ends = float(one[free].min()), float(one[free].max())
        values = inside.values(one, ends, terms, seed, to) if law == "inside" else \
            _values(law, one, to, ends).to(one.dtype)
    if "symmetric" in kinds:
        values, stays = _mirror(values), stays | stays.transpose(-1, -2)
    elif _positive_diagonal(one, other, free):
        values.diagonal(dim1=-2, dim2=-1).abs_()
    return torch.where(stays, one, values)


def _number(draw, low, high):
    """Uniform in [low, high)."""
    return low + (high - low) * float(torch.rand(1, generator=draw, device="cpu"))


def _coin(draw, share=0.5):
    return float(torch.rand(1, generator=draw, device="cpu")) < share


def _amount(draw, k, unit, large):
    """As of device_touch.c: the first large, where one is asked, then one of each sign."""
    large = large and (k == 0 or (k > 2 and _coin(draw, 0.25)))
    v = max(unit, 1) * 2 ** _number(draw, 7, 10) if large else unit * 2 ** _number(draw, 1, 6)
    coin = _coin(draw)
    below = (not large and coin) if k == 0 else k == 1 or (k > 2 and coin)
    return -v if below else v


def _touched(one, other, kinds, seed, large, odd):
    """A copy with a few values of moderate to large magnitude, at odd or at even places that are
    not always the same; of a symmetric matrix, at both of a pair."""
    free = ~_stays(one, other)
    places = free.reshape(-1).nonzero().reshape(-1)
    copy = one.clone(memory_format=torch.contiguous_format)
    if places.numel() == 0:
        return copy
    draw = torch.Generator(device="cpu").manual_seed(seed)
    unit = float(one[free].abs().max())
    positive = _positive_diagonal(one, other, free)
    flat, n = copy.view(-1), copy.shape[-1]
    few = -(-places.numel() // 8)
    half = places[places % 2 == int(odd)]
    places = half if half.numel() > 0 else places
    for k in range(min(3 + int(_coin(draw)), few)):
        at = int(places[int(_number(draw, 0, places.numel()))])
        value = _amount(draw, k, unit, large)
        value = max(-HALF_MOST, min(HALF_MOST, value)) if one.dtype == torch.float16 else value
        row, column = at // n % copy.shape[-2] if copy.dim() > 1 else 0, at % n
        value = abs(value) if positive and row == column else value
        flat[at] = value
        if "symmetric" in kinds:
            flat[at // (n * n) * n * n + column * n + row] = value
    return copy


def _raised(one, other, seed):
    """All values that are not always the same, times a factor, plus a shift."""
    stays = _stays(one, other)
    free = ~stays
    if not bool(free.any()):
        return one
    draw = torch.Generator(device="cpu").manual_seed(seed)
    inside = one[free]
    factor = 2 ** _number(draw, -3, 6)
    sign = -1 if _coin(draw, 0.25) else 1
    shift = (float(inside.max()) - float(inside.min())) / 4 * 2 ** _number(draw, -1, 3)
    shift *= 0 if _coin(draw) else -1 if _coin(draw) else 1
    if _positive_diagonal(one, other, free):
        sign, shift = 1, 0
    values = (one + shift) * (factor * sign)
    if one.dtype == torch.float16:
        values = values.clamp(-HALF_MOST, HALF_MOST)
    return torch.where(stays, one, values)


def _scaled(law, one, other, seed):
    """An order and definiteness stand a scale. Not where an end, or a place, has its value in each
    draw: a distribution that ends at 1."""
    scale = 2.0 ** (seed % 10 - 3) if law == "raised" else SCALES.get(law)
    if scale is None or bool((_stays(one, other) & (one != 0)).any()):
        return one
    for end in (torch.min, torch.max):
        a, b = float(end(one)), float(end(other))
        if abs(a - b) <= 1e-3 * max(abs(a), abs(b)):
            return one
    return one * scale


def _partner(i, tensors, kinds):
    """The first input that is the same as this one."""
    for k in range(i):
        if "equal" in kinds.get(k, ()) and "equal" in kinds[i] and \
                tensors[k].shape == tensors[i].shape and torch.equal(tensors[k], tensors[i]):
            return k
    return None


def _values_far_from(flat, at, free):
    """Of a few others, the value furthest from that at this place."""
    places = free[::max(1, free.numel() // 64)]
    values = flat[places].double()
    far = (values - flat[at].double()).abs()
    return values[far.argmax()] if far.max() > 0 else 2 * flat[at].double() + 1


def _edit(one, other, kinds, seed):
    """A copy with a new value at one of the places that are not always the same; of a symmetric
    matrix, at two."""
    mask = ~_stays(one, other)
    free = mask.reshape(-1).nonzero().reshape(-1)
    copy = one.clone(memory_format=torch.contiguous_format)
    if free.numel() == 0:
        return copy
    draw = torch.Generator(device="cpu").manual_seed(seed)
    number = torch.randint(0, free.numel(), (1,), generator=draw, device="cpu")
    at = int(free[int(number)])
    flat = copy.view(-1)
    value, n = _values_far_from(flat, at, free), copy.shape[-1]
    start, row, column = at // (n * n) * n * n, at // n % n, at % n
    if row == column and _positive_diagonal(one, other, mask):
        value = value.abs()
    flat[at] = value
    if "symmetric" in kinds:
        flat[start + column * n + row] = value
    return copy


def _changed(law, one, other, kinds, seed, chosen, terms):
    if law == "single-edit":
        return _edit(one, other, kinds, seed)
    if not kinds:
        return _raised(one, other, seed) if law == "raised" else one
    if not set(kinds) <= WITHIN:
        return _scaled(law, one, other, seed)
    if law in TOUCHES:
        return _touched(one, other, kinds, seed, chosen, law == "touched-elsewhere")
    if law == "raised":
        return _raised(one, other, seed)
    return _filled(law, one, other, kinds, seed, chosen, terms)


def _laid(values, like):
    """A tensor with the strides of another one, which may have gaps, and elements in one place."""
    dense = torch.empty_like(like)
    if dense.stride() == like.stride():
        return dense.copy_(values)
    extent = layout.reach(like)
    memory = torch.zeros(extent, dtype=like.dtype, device=like.device)
    places = torch.as_strided(torch.arange(extent, device=like.device), like.shape, like.stride())
    memory[places.reshape(-1)] = values.reshape(-1).to(like.dtype)
    return torch.as_strided(memory, like.shape, like.stride())


def compares(subject, law, which):
    """Does the law need another draw, which tells the places that are always the same?"""
    return law != "inside" or bool(subject.keeps.get(which))


def _inside(subject, one, made, which, mate, seed):
    """The law `inside` of an input without structure; where its low bits lean, those of mate lean,
    too: what a narrow operand loses of mate would average out."""
    ends = inside.range_of(one[which])
    leans = inside.leans(one[which], ends, subject.terms, seed)
    made[which] = inside.changed(one[which], ends, subject.terms, seed)
    if leans and mate >= 0 and not subject.keeps.get(mate):
        made[mate] = inside.leaning(one[mate], seed + 1)
    for i, t in enumerate(made):
        made[i] = t if t is one[i] else _laid(t, one[i])


def changed(subject, named, again, seed, law, which, mate=-1):
    """[(path, tensor)]: a draw of the problem's, on the device, changed by a law where
    subject.keeps, {input: kinds of its structure}, has the input. again: another draw. which: the
    input that is edited, has full significands, or is changed alone; of TOUCHES 0, if it has large
    ones. mate: of `inside`, one that may change with it. A tensor keeps its strides."""
    kinds = subject.keeps
    one, made = [t for _, t in named], [t for _, t in named]
    if not compares(subject, law, which):
        _inside(subject, one, made, which, mate, seed)
        return [(path, t) for (path, _), t in zip(named, made)]
    for i, of in sorted(kinds.items()):
        k = _partner(i, one, kinds)
        chosen = which == i or (which in kinds and _partner(which, one, kinds) == i)
        if k is None and not chosen and law in OF_ONE:
            continue
        chosen = which == 0 if law in TOUCHES else chosen
        values = made[k] if k is not None else \
            _changed(law, one[i], subject.moved(i, again[i][1]), of, (seed + 7 * i) % (1 << 62),
                     chosen, subject.terms)
        made[i] = values if values is one[i] else _laid(values, one[i])
    return [(path, t) for (path, _), t in zip(named, made)]


def of_flags(flags):
    """(law, which, mate) of DRAW's flags; None: the problem's own draw. mate -1: none."""
    number = flags >> wire.LAW_AT & wire.LAW_MOST
    return (wire.LAWS[number - 1], flags >> wire.WHICH_AT & wire.WHICH_MOST,
            (flags >> wire.MATE_AT & wire.MATE_MOST) - 1) if number else None
