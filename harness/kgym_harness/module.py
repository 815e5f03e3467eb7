"""The module under test: built, given its state, called."""

import contextlib
import copy
import random
import sys

import torch

from . import oracle, values, wire
from .source import Source


# Of products' operands in the league tf32: bits, what they are multiplied by meanwhile, and whether
# they are rounded to nearest or cut.
KEPT = {wire.NEAR: (11, 1, False), wire.FINE: (11, 1.37, False), wire.ROUND: (11, 1, True),
        wire.NEAR | wire.FINE: (15, 1, False)}


class BadState(Exception):
    """Names and shapes of the state cannot be matched."""


class InputsVary(Exception):
    """What is no tensor among the inputs is not the same in every draw. A candidate is called with
    one value of it, that of the description."""

    def __init__(self, path):
        super().__init__("get_inputs(): %s changes from draw to draw, and only tensors may"
                         % ("input " + path if path else "the number of inputs"))


def seed_all(seed, device):
    """Part of every call, so of what is timed: generators themselves, not torch's functions round
    them, which take 50 us on a GPU."""
    seed &= (1 << 63) - 1
    random.seed(seed)
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        for generator in torch.cuda.default_generators:
            generator.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed & 0xFFFFFFFF)


def trial_seeds(seed, n):
    """As KernelBench draws the seeds of its correctness trials."""
    torch.manual_seed(seed)
    return [torch.randint(0, 2 ** 32 - 1, (1,)).item() for _ in range(n)]


def _cast(args, dtype):
    """As KernelBench does: every tensor among them, indices and masks too."""
    return [t.to(dtype) if isinstance(t, torch.Tensor) else t for t in args]


class Subject:
    """One source file and what became of it: a reference (Model, get_inputs, ...) or a candidate
    (ModelNew)."""

    def __init__(self, path, entry, role, device, compat=None):
        self.entry, self.role, self.device = entry, role, device
        self.single = False  # its oracle is itself in float
        self.tf32 = False  # the league's arithmetic
        self.compat = compat  # as KernelBench runs modules: all in this dtype, inputs that may be written
        self.source = Source(path, "kgym_" + role)
        self.module = self.wide = self.before = None
        self.kept = {}  # of what is in before: (tensor, its version) by name
        self.loaded = None  # [(the reference's name, its own)] of what state went where
        self.template = None  # of the inputs, the same in every draw
        self.bound, self.inputs = [], ()

    def execute(self, consts=None):
        self.source.run(consts)
        self.source.entry(self.entry)
        self.module = self.wide = self.before = self.template = None

    def own_init(self):
        """(args, kwargs) of the reference's own get_init_inputs: KernelBench returns args,
        KernelBook [args, kwargs]."""
        function = vars(self.source.module).get("get_init_inputs")
        got = function() if function is not None else []
        if self.entry != "Model" and isinstance(got, (list, tuple)) and len(got) == 2 and \
                isinstance(got[0], (list, tuple)) and isinstance(got[1], dict):
            return list(got[0]), dict(got[1])
        if isinstance(got, dict):
            return [], dict(got)
        return list(got), {}

    def build(self, init, kwargs, seed):
        """init None: the source's own."""
        seed_all(seed, self.device)
        if init is None:
            args, named = self.own_init()
        else:
            args, named = [values.decode(a) for a in init], {k: values.decode(v)
                                                             for k, v in (kwargs or {}).items()}
        if self.compat:
            args = [t.to(self.device) if isinstance(t, torch.Tensor) else t
                    for t in _cast(args, self.compat)]
        seed_all(seed, self.device)
        made = self.source.entry(self.entry)(*args, **named)
        if isinstance(made, torch.nn.Module):
            made = made.to(self.device)
            made = made.to(self.compat) if self.compat else made
        self.module, self.wide, self.before, self.loaded = made, None, None, None

    def draw(self, seed):
        """[(path, tensor)] of get_inputs() under this seed, where it makes them."""
        seed_all(seed, self.device)
        function = self.source.entry("get_inputs")
        named = []
        got = _cast(function(), self.compat) if self.compat else function()
        template = values.take_apart(list(got), "", named)
        if self.template is None:
            self.template = template["list"]
        differs = values.difference({"list": self.template}, template)
        if differs is not None:
            raise InputsVary(differs)
        return named

    def move(self, named):
        """Onto the device."""
        return [(path, t.to(self.device)) for path, t in named]

    def bind(self, tensors):
        """The inputs of the calls to come."""
        self.bound = tensors
        if self.template is None:
            self.inputs = tuple(tensors)
        else:
            left = iter(tensors)
            self.inputs = tuple(values.put_together(part, left) for part in self.template)
        self.wide_inputs = None
        self._keep_buffers()

    def _keep_buffers(self):
        """Not in a call, which may be timed; nor before one, where the device is to be quiet, if
        they are as they were when they were kept last."""
        if self.role != "reference":
            return
        now = self.buffers()
        if self.before is None or not self._as_kept(now):
            self.before = {n: t.clone() for n, t in now.items()}
            self.kept = {n: (t, None if t.is_inference() else t._version) for n, t in now.items()}

    def _as_kept(self, now):
        """The same tensors, unwritten since; those made in inference mode do not say."""
        return now.keys() == self.kept.keys() and all(
            self.kept[n][0] is t and not t.is_inference() and self.kept[n][1] == t._version
            for n, t in now.items())

    def state(self):
        """[(name, tensor)] of parameters and persistent buffers, in the module's order."""
        if not isinstance(self.module, torch.nn.Module):
            return []
        return [(name, t) for name, t in torch.nn.Module.state_dict(self.module).items()
                if isinstance(t, torch.Tensor)]

    def buffers(self):
        if not isinstance(self.module, torch.nn.Module):
            return {}
        return dict(self.module.named_buffers())

    def load(self, given):
        """given: [(name, tensor)] of the reference. By name, where the module has all of them: what
        it has besides keeps its own values. Else by order and shape; else by the module's own
        load_reference_state. Then prepare()."""
        how = self._load(given)
        prepare = getattr(self.module, "prepare", None)
        if callable(prepare):
            prepare()
        self.wide = None
        self._keep_buffers()
        return how

    def _load(self, given):
        own = self.state()
        names = [name for name, _ in given]
        if not given:
            return "nothing"
        if self._has(given, own):
            how, mine = "name", names
        elif [tuple(t.shape) for _, t in own] == [tuple(t.shape) for _, t in given]:
            how, mine = "order", [name for name, _ in own]
        else:
            return self._by_method(given, names)
        there = dict(own)
        for name, (_, theirs) in zip(mine, given):
            there[name].copy_(theirs)
        self.loaded = list(zip(names, mine))
        return how

    def _by_method(self, given, names):
        method = getattr(self.module, "load_reference_state", None)
        if not callable(method):
            raise BadState("of the reference's %d tensors of state some are missing here, and "
                           "the module's %d have not their order and shapes"
                           % (len(given), len(self.state())))
        method({name: t.clone() for name, t in given})
        there = self._has(given, self.state())
        self.loaded = list(zip(names, names)) if there else None
        return "method"

    @staticmethod
    def _has(given, own):
        shapes = {name: t.shape for name, t in own}
        return all(shapes.get(name) == t.shape for name, t in given)

    def snapshot(self):
        """The state as it is now, of what was loaded; names, because a call may put another tensor
        in a buffer's place."""
        if self.loaded is None:
            return self.state()
        now = dict(self.state())
        return [(name, now[mine]) for name, mine in self.loaded if mine in now]

    def call(self, wide, near=0, seed=None):
        inputs = self.inputs
        if self.compat:
            inputs = self.own_inputs()
        if wide:
            return self._call_wide(inputs, seed)
        return self._call_near(inputs, near) if near else self.module(*inputs)

    def own_inputs(self):
        """Copies, which may be written."""
        return oracle.each(torch.clone, self.inputs)

    def _call_near(self, inputs, near):
        """On inputs that are moved by a rounding error; without an oracle in double, with every
        operation's result moved as well, in the league tf32 with products of such operands: that is
        what its own error looks like. Where operands are rounded, inputs are as they are."""
        move, nothing = oracle.Mover(), contextlib.nullcontext()
        with oracle.Rounding(move) if self.single else nothing, \
                oracle.tf32(*KEPT[near]) if self.tf32 else nothing:
            return self.module(*(inputs if near == wire.ROUND else oracle.each(move.input, inputs)))

    def _call_wide(self, inputs, seed):
        """In double precision, from the buffers that were there when its inputs came: one call in
        float for each bind, where calls change them. Its own buffers do not count."""
        with oracle.double_by_default():
            try:
                return self._widened()(*oracle.wide(inputs))
            except RuntimeError:
                if seed is not None:
                    seed_all(seed, self.device)
                with oracle.Widening():
                    return self._widened()(*oracle.wide(inputs))

    def _widened(self):
        module = copy.deepcopy(self.module)
        for name, t in dict(module.named_buffers()).items() if self.before else ():
            t.copy_(self.before[name])
        return oracle.widen(module)
