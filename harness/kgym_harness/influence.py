"""Finds the state of a reference that a candidate need not have: tensors without influence on the
answer, counters, constants that it can make itself, and second names of a tensor. And the state
whose values the judge must not make: they have to do with each other.

What is found only spares a candidate from having the tensor. Answers are compared as ever, so a
candidate that lacks what matters stays wrong."""

import torch
from torch.overrides import TorchFunctionMode

from . import oracle, structure, summary

FEW_VALUES = 16  # a buffer of at most so many different ones is a table, which the judge leaves
NEEDED, IDLE, CONSTANT, TIED = "n", "i", "c", "t"
# Functions by which Python learns a value of a tensor, or a shape that hangs on values: what it
# does next may hang on it.
TELLS = {"__bool__", "__float__", "__int__", "__complex__", "__index__", "__array__", "__format__",
         "__contains__", "item", "tolist", "numpy", "equal", "allclose", "is_nonzero", "nonzero",
         "argwhere", "masked_select", "unique", "_unique2", "unique_consecutive"}


def _storage(t):
    return t.untyped_storage().data_ptr() if t.layout is torch.strided and t.numel() > 0 else None


def _tensors(value, found):
    """All tensors in lists, tuples of any class, and dicts."""
    if isinstance(value, torch.Tensor):
        found.append(value)
    elif isinstance(value, (list, tuple)):
        for v in value:
            _tensors(v, found)
    elif isinstance(value, dict):
        for v in value.values():
            _tensors(v, found)
    return found


def _tells(func, args):
    name = getattr(func, "__name__", "")
    masked = name == "__getitem__" and \
        any(t.dtype in (torch.bool, torch.uint8) for t in _tensors(list(args[1:]), []))
    return masked or name in TELLS


class Tracing(TorchFunctionMode):
    """Follows from which tensors of the state a storage is computed. A storage that an operation
    has made holds what its operands held; one that it was given keeps what it had, too. told:
    Python has learnt a value of a tensor."""

    def __init__(self, state):
        super().__init__()
        self.of, self.told = {}, False
        for i, (_, t) in enumerate(state):
            self.of.setdefault(_storage(t), set()).add(i)
        self.of.pop(None, None)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.told = self.told or _tells(func, args)
        given = _tensors([list(args), dict(kwargs or {})], [])
        before = [(_storage(t), t._version) for t in given]
        made = func(*args, **(kwargs or {}))
        had = {s for s, _ in before}
        sources = set().union(*(self.of.get(s, ()) for s in had))
        written = [t for t, (_, version) in zip(given, before) if t._version != version]
        for s in map(_storage, _tensors(made, []) + written):
            if s is not None:
                self.of[s] = self.of.get(s, set()) | sources if s in had else set(sources)
        return made

    def reach(self, tensors):
        """Numbers of those tensors of the state that these were computed from."""
        return set().union(*(self.of.get(_storage(t), ()) for t in tensors))


def facts(subject):
    """Of each tensor of the state. structured: its values are the constructor's in all calls."""
    buffers, state, found = subject.buffers(), subject.state(), []
    structured = structure.of_state([t.detach() for _, t in state], ties(state))
    for i, (name, t) in enumerate(state):
        of_values = summary.facts_of(t)
        told = {k: of_values.get(k)
                for k in ("dtype", "shape", "mean", "sd", "min", "max", "distinct")}
        found.append(dict(told, name=name, buffer=name in buffers, structured=i in structured))
    return found


def computed(facts_of_one, changed):
    """May its constructor have computed this tensor from others: a weight's norms? Values that the
    judge makes would not belong to each other. changed: calls change it."""
    return facts_of_one["buffer"] and facts_of_one["need"] == NEEDED and not changed and \
        (facts_of_one["distinct"] or 0) > FEW_VALUES and "float" in facts_of_one["dtype"]


def is_counter(t):
    """Like num_batches_tracked."""
    return t.numel() == 1 and not t.is_floating_point() and not t.is_complex()


def _other(t):
    """Other values that the tensor may have."""
    if t.dtype is torch.bool:
        return ~t
    if not t.is_floating_point():
        return torch.zeros_like(t) if bool((t != 0).any()) else torch.ones_like(t)
    return t * 0.5 + 0.75


def idle(subject, ask, restore, same):
    """(numbers of the tensors that have no influence, whether Python has learnt a value of a
    tensor). ask(): the answer's tensors of a call on the same inputs, under the same seed.
    same(a, b): two such answers are equal in every bit. A call shows what the answer, and state
    that a call changes, is computed from. Then all other tensors are changed at once, and the
    answer must stay."""
    state = subject.state()
    before = [t.clone() for _, t in state]
    with Tracing(state) as trace:
        one = ask()
    after = subject.state()
    changed = {i for i, (_, t) in enumerate(after) if not torch.equal(t, before[i])}
    sinks = [after[i][1] for i in changed if not is_counter(after[i][1])]
    reached = trace.reach([t for _, t in one] + sinks) | {
        i for i in changed if not is_counter(after[i][1])}
    restore()
    left = set(range(len(state))) - reached
    if left:
        kept = [(t, t.clone()) for i, (_, t) in enumerate(subject.state()) if i in left]
        for t, was in kept:
            t.copy_(_other(was))
        try:
            left = left if same(one, ask()) else set()
        except Exception:  # it rejects such values, so they matter
            left = set()
        restore()
    return left, trace.told or oracle.scripted(subject.module)


def marks(subject):
    """{number of a buffer: what writing to it changes, even where its values stay}. A parameter may
    move without being written to (`flatten_parameters`), so its values alone tell."""
    buffers = subject.buffers()
    return {i: (_storage(t), None if t.is_inference() else t._version)
            for i, (name, t) in enumerate(subject.state()) if name in buffers}


def ties(state):
    """{number: number of the first tensor with the same memory}."""
    first, found = {}, {}
    for i, (_, t) in enumerate(state):
        key = (_storage(t), t.storage_offset(), tuple(t.shape), tuple(t.stride()), t.dtype)
        if key[0] is not None and first.setdefault(key, i) != i:
            found[i] = first[key]
    return found


def constants(subject, seed, changed):
    """Numbers of tensors that every construction makes alike, and that hold no single value, as
    statistics do before their first update: masks, grids, tables. A parameter that is trained is
    none. Builds the module again, under another seed."""
    trained = dict(subject.module.named_parameters()) \
        if isinstance(subject.module, torch.nn.Module) else {}
    may = []
    for i, (name, t) in enumerate(subject.state()):
        fixed = name not in trained or not trained[name].requires_grad
        if i not in changed and fixed and t.numel() > 1 and bool((t != t.reshape(-1)[0]).any()):
            may.append((i, name, t.clone()))
    if not may:
        return set()
    try:
        subject.build(None, None, seed + 1)
    except Exception:
        return set()
    now = dict(subject.state())
    return {i for i, name, was in may
            if name in now and now[name].shape == was.shape and torch.equal(now[name], was)}
