"""Describes the task of a reference as facts: constructor arguments, inputs, state and answers."""

import contextlib
import random

import torch

from . import (draws, influence, integers, layout, overlap, smaller, structure, summary, tensors,
               values)
from .module import seed_all

DRAWS = 4  # that structure is looked for in
TRIES = 3  # sets of draws that are compared at a smaller shape, at most
LARGE = 1 << 26  # elements of all inputs: then two
PAGE = 64  # tensors of the state in one reply
MORE = 7  # further draws of a module that may change its state for some data only
EDITED = 2  # how many of the largest inputs are edited, to see what depends on an element
BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def _same(a, b):
    """Equal values; a NaN equals another."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return torch.equal(a, b) or a.is_floating_point() and bool(torch.isnan(a).any()) and \
        torch.equal(torch.nan_to_num(a), torch.nan_to_num(b))


def all_same(a, b):
    return len(a) == len(b) and all(_same(x, y) for (_, x), (_, y) in zip(a, b))


def _own(subject, drawn):
    """A draw, moved to the device and in memory of its own: get_inputs() may return the same
    tensors again. A move makes copies. Notes which inputs share memory in all draws so far."""
    pairs = overlap.pairs([t for _, t in drawn])
    subject.overlapping = pairs if subject.overlapping is None else subject.overlapping & pairs
    return [(path, t if t is not was else layout.copy(t))
            for (path, t), (_, was) in zip(subject.move(drawn), drawn)]


def _drawn(subject, seed):
    return _own(subject, subject.draw(seed))


def _there(subject, seed, large):
    """(draws with subject.fast as the default device, how each input differs from one to the next:
    values of draws.py); None where nothing comes from there."""
    raw = subject.draw(seed + 1)
    if all(t.device.type != torch.device(subject.fast).type for _, t in raw):
        return None
    found = [_own(subject, raw)]
    differs = [draws.FIXED] * len(raw)
    for k in range(2, DRAWS):
        last = found[-1]
        if large:  # no more than two draws are held at once
            del found[:]
        found.append(_drawn(subject, seed + k))
        differs = [max(so_far, draws.difference(a, b))
                   for so_far, (_, a), (_, b) in zip(differs, last, found[-1])]
        del last
    return found, differs


def _inputs_of_device(subject, seed, host, fast):
    """[draws], the first one made on the CPU, the others on that device; None: they are not
    alike, or it is not worth it."""
    elements = sum(t.numel() for _, t in host)
    if fast is None or subject.compat or elements < draws.WORTH:
        return None
    subject.fast = fast
    try:
        got = _there(subject, seed, elements >= LARGE)
        if got is not None:
            found = [_own(subject, host)] + got[0]
            columns = [[t for _, t in column] for column in zip(*found)]
            if draws.alike(columns, got[1], structure.find):
                return found
    except Exception:  # it names a device, or takes something that is on the CPU
        pass
    subject.fast = None
    return None


def _as_smaller(subject, seed, small, fast):
    """[draws], all made on that device, where those of a smaller shape are alike, and have the
    same strides; None: they are not. What a random scale does may not show in a few draws, so that
    others are tried."""
    try:
        if not any(_inputs_of_device(small, at, small.draw(at), fast)
                   for at in range(seed, seed + TRIES * DRAWS, DRAWS)):
            return None
        there = [list(layout.on(small.device, t)) for _, t in small.draw(seed + DRAWS)]
        if there != small.strides:
            return None
        subject.fast = fast
        return [_drawn(subject, seed), _drawn(subject, seed + 1)]
    except Exception:  # it can't be so small, or has other ways at its own shape
        subject.fast = subject.template = subject.forms = subject.strides = None
        return None


def _inputs(subject, seed, host, small, fast):
    """Facts of each input, which was drawn once on the CPU, or at the shape of small. `fixed`: it
    is the same for every seed."""
    found = _as_smaller(subject, seed, small, fast) if small else None
    if found is None:
        host = host or subject.draw(seed)
        found = _inputs_of_device(subject, seed, host, fast)
    if found is None:
        subject.overlapping = None
        more = DRAWS if sum(t.numel() for _, t in host) < LARGE else 2
        found = [_own(subject, host)] + [_drawn(subject, seed + k) for k in range(1, more)]
    columns = [[t for _, t in column] for column in zip(*found)]
    kinds = structure.find(columns, subject.overlapping)
    whole, told = integers.find(columns), []
    for i, (path, a) in enumerate(found[0]):
        facts = summary.facts_of(a)
        facts["name"], facts["fixed"] = path, _same(a, columns[i][1])
        facts["stride"] = subject.strides[i]
        facts["structure"] = kinds[i] + whole[i]
        told.append(facts)
    return found[0], told


def _smaller(subject, consts, seed):
    """(the problem at a smaller shape, bytes of its inputs at its own), where there is so much to
    draw that this is worth it; else (None, None)."""
    size = smaller.size(subject, consts, seed)
    if size is None or size[0] < LARGE:
        return None, None
    return smaller.shape(subject, consts, seed, size[0]), size[1]


def _forms(subject, drawn):
    """Of inputs whose size alone is asked for, before their reference is called."""
    return drawn, [{"name": path, "dtype": str(t.dtype).split(".")[-1], "shape": list(t.shape),
                    "stride": stride} for (path, t), stride in zip(drawn, subject.strides)]


def _restore(subject, kept):
    for (_, t), (_, was) in zip(subject.state(), kept):
        t.copy_(was)


def _answers(subject, drawn, seed, written=()):
    """(structure, [(path, tensor)]) of a call. written: numbers of the inputs that it may write
    to, of which it gets copies. The answer may lie in memory of the inputs or the module."""
    subject.bind([layout.copy(t) if i in written else t for i, (_, t) in enumerate(drawn)])
    seed_all(seed, subject.device)
    return tensors.flatten(subject.call(False))


def _kept(named):
    return [(path, t.clone()) for path, t in named]


def _first(subject, drawn, seed):
    """The first call: its structure and answer, the numbers of the inputs that it writes to, with
    the values that they have or with others, and what it allocates on a GPU."""
    subject.bind([layout.copy(t) for _, t in drawn])
    seed_all(seed, subject.device)
    versions, before = [t._version for t in subject.bound], _allocated(subject)
    structure, named = tensors.flatten(subject.call(False))
    allocated = _allocated(subject, before)
    one = _kept(named)
    written = {i for i, (t, version) in enumerate(zip(subject.bound, versions))
               if t._version != version or not _same(drawn[i][1], t)}
    return structure, one, written, allocated


def _allocated(subject, before=None):
    """Bytes that PyTorch has allocated on a GPU; or most that it has since, beyond those."""
    if subject.device.type != "cuda":
        return 0
    if before is None:
        torch.cuda.reset_peak_memory_stats(subject.device)
        return torch.cuda.memory_allocated(subject.device)
    return torch.cuda.max_memory_allocated(subject.device) - before


def _repeats(asked, seed, one, kept):
    subject, drawn, written = asked
    _, again = _answers(subject, drawn, seed, written)
    same = all_same(one, again)
    _restore(subject, kept)
    return same


def other(flat, at):
    """A new value for one element. It is another element's, so the tensor keeps its character; of
    a few, the one furthest from the old value."""
    old = float(flat[at])
    part = summary.sample(flat, 64).double()
    part = part[torch.isfinite(part)]
    far = (part - old).abs().nan_to_num(nan=1.0)
    best = int(far.argmax()) if far.numel() > 0 else 0
    return float(part[best]) if far.numel() > 0 and far[best] > 0 else 2 * old + 1


@contextlib.contextmanager
def edited(drawn, i, at, value=None):
    """The inputs with one element of one of them changed: for so long, where the tensor is."""
    t = drawn[i][1]
    if layout.reach(t) != t.numel():  # an element of its memory need not be one of its own
        t = t.clone(memory_format=torch.contiguous_format)
    flat = layout.memory(t)
    was = flat[at].clone()
    flat[at] = other(flat, at) if value is None else value
    try:
        yield drawn[:i] + [(drawn[i][0], t)] + drawn[i + 1:]
    finally:
        flat[at] = was


def _unlike(a, b):
    """Number of elements of two floating tensors that differ in any bit; a NaN may equal
    another."""
    bits = BITS[a.element_size()]
    return int(torch.count_nonzero(a.contiguous().view(bits) != b.contiguous().view(bits)))


def _floating(named):
    return [(i, t) for i, (_, t) in enumerate(named) if t.is_floating_point() and t.numel() > 0]


def _terms(asked, seed, one, kept):
    """How many elements of an input one element of the answer depends on; None: unknown.

    It is measured in the other direction. Changing one element of the input changes some
    elements of the answer; scaled by n_in / n_out this gives the number. The largest of two
    inputs counts, with two elements each: the first one, where a scan begins, and a random one."""
    subject, drawn, written = asked
    answers, most = _floating(one), None
    whole = sum(t.numel() for _, t in answers)
    for i, t in sorted(_floating(drawn), key=lambda part: -part[1].numel())[:EDITED]:
        for at in {0, random.Random(seed).randrange(t.numel())}:
            with edited(drawn, i, at) as changed:
                _, named = _answers(subject, changed, seed, written)
                if [(n.shape, n.dtype) for _, n in named] != [(n.shape, n.dtype) for _, n in one]:
                    _restore(subject, kept)
                    return None
                differ = sum(_unlike(was, named[k][1]) for k, was in answers)
            _restore(subject, kept)
            if whole > 0:
                most = max(most or 1, -(-differ * t.numel() // whole))
    return most


def _changed(subject, kept):
    """Numbers of the tensors of the state whose values calls have changed."""
    return {i for i, ((_, was), (_, t)) in enumerate(zip(kept, subject.state()))
            if not _same(was, t)}


def _changed_elsewhere(asked, seed, kept):
    """The same of calls on other draws: a reference may change its state for some data only. Large
    inputs are drawn once more only."""
    subject, drawn, written = asked
    changed = set()
    for k in range(1, 2 if sum(t.numel() for _, t in drawn) >= LARGE else 1 + MORE):
        try:
            _answers(subject, _drawn(subject, seed + k), seed, written)
            changed |= _changed(subject, kept)
        except Exception:  # it refuses this draw, or draws of another shape
            pass
        _restore(subject, kept)
    return changed


def _spare(asked, seed, found, kept, changed):
    """Marks what a candidate need not have (influence.py), and what calls on other data change. It
    comes last, because it may build the module again."""
    subject, drawn, written = asked
    state = subject.state()
    if not state:
        return
    need, tied = [influence.NEEDED] * len(state), influence.ties(state)
    left, told = set(), True
    if found["deterministic"]:
        try:
            left, told = influence.idle(
                subject, lambda: _kept(_answers(subject, drawn, seed, written)[1]),
                lambda: _restore(subject, kept), all_same)
        except Exception:  # an operation that cannot be followed
            _restore(subject, kept)
    if told or any(f["changed"] and i not in changed for i, f in enumerate(found["state"])):
        changed = changed | _changed_elsewhere(asked, seed, kept)
        found["updates_state"] = found["updates_state"] or bool(changed)
        for i in changed:
            found["state"][i]["changed"] = True
    for i in left:
        if i not in changed or influence.is_counter(state[i][1]):
            need[i] = influence.IDLE
    for i in influence.constants(subject, seed, changed):
        need[i] = influence.CONSTANT if need[i] == influence.NEEDED else need[i]
    for i, first in tied.items():
        found["state"][i]["tied"] = first
        need[i] = influence.TIED if need[i] == influence.NEEDED else need[i]
    for facts, what in zip(found["state"], need):
        facts["need"] = what
    if any(influence.computed(f, i in changed) for i, f in enumerate(found["state"])):
        for facts in found["state"]:
            facts["structured"] = True


def page(found, begin):
    """The description with a part of the state's list; state_count is its whole length. A reply
    holds no more."""
    if "wants" in found:
        return found
    part = found["state"][begin:begin + PAGE]
    if begin:
        return {"state": part}
    return dict(found, state=part, state_count=len(found["state"]))


def describe(subject, request, seed):
    """Builds the module under seed, and calls it three times unless request says run: false.
    Where calls repeat themselves, it makes four more at most. Where they may change the state for
    some data only, it makes seven on other draws."""
    lacked = _lacked(subject)
    seed_all(seed, subject.device)  # as where the reference is built: both sides get the same
    args, kwargs = subject.own_init()
    subject.build(None, None, seed)
    fast, run = str(subject.device) if request.get("fast") else None, request.get("run", True)
    host, subject.first_draw = subject.first_draw, None
    small = None
    if fast and run and not host and not subject.compat:
        host = smaller.drawn(subject, seed, LARGE - 1)
    if fast and run and not host and not subject.compat:
        small, wants = _smaller(subject, request.get("consts"), seed)
    if small is None:
        host = host or subject.draw(seed)
        wants = sum(t.numel() * t.element_size() for _, t in host)
    if wants > request.get("room", wants):
        subject.first_draw = host
        return {"wants": wants}
    drawn, inputs = _inputs(subject, seed, host, small, fast) if run else _forms(subject, host)
    del host, small
    found = {
        "init": {"args": [values.encode(a) for a in args],
                 "kwargs": {k: values.encode(v) for k, v in kwargs.items()}},
        "inputs": inputs,
        "fast": subject.fast is not None,
        "template": subject.template,
        "state": influence.facts(subject),
        "constants": subject.source.constants(),
        "training": bool(getattr(subject.module, "training", False)),
    }
    if run:
        _calls(subject, drawn, seed, found)
    found["complete"] = _lacked(subject) == lacked
    return found


def _lacked(subject):
    """How often memory of the device was refused. Then something was not looked at."""
    if subject.device.type != "cuda":
        return 0
    return torch.cuda.memory_stats(subject.device).get("num_ooms", 0)


def _calls(subject, drawn, seed, found):
    """What calls of the module tell."""
    kept, marks = _kept(subject.state()), influence.marks(subject)
    structure, one, written, found["call_bytes"] = _first(subject, drawn, seed)
    changed = _changed(subject, kept)
    found["updates_state"] = bool(changed) or len(kept) != len(subject.state())
    written_to = influence.marks(subject)
    for i, facts in enumerate(found["state"]):
        facts["changed"] = i in changed or marks.get(i) != written_to.get(i)
    _restore(subject, kept)
    found["outputs"] = [dict(summary.facts_of(t), name=path, fill=summary.fill_of(t))
                        for path, t in one]
    found["structure"] = structure
    for i, facts in enumerate(found["inputs"]):
        facts["written"] = i in written
    found["writes_inputs"] = [f["name"] for f in found["inputs"] if f["written"]]
    asked = subject, drawn, written
    found["deterministic"] = _repeats(asked, seed, one, kept)
    found["random"] = not _repeats(asked, seed + 1, one, kept)
    if found["deterministic"]:
        try:
            found["terms"] = _terms(asked, seed, one, kept)
        except Exception:  # it rejects other values, or there is no memory for them
            _restore(subject, kept)
    _spare(asked, seed, found, kept, changed)
