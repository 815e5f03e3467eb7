"""The module under test: builds it, loads its state, calls it."""

import contextlib
import copy
import inspect
import random
import sys

import torch

from . import influence, layout, mapping, oracle, unrounded, values, wire
from .source import Source


# League tf32, operands of products: bits that are kept, a factor that they are multiplied by
# meanwhile, and whether they are rounded to nearest or cut.
KEPT = {wire.NEAR: (11, 1, False), wire.FINE: (11, 1.37, False), wire.ROUND: (11, 1, True),
        wire.NEAR | wire.FINE: (15, 1, False)}


class BadState(Exception):
    """Names or shapes of the state do not match."""


class InputsVary(Exception):
    """An input that is not a tensor changes from draw to draw, or a tensor's shape or type does.
    A candidate is called with one form of it only, the one in the description."""

    def __init__(self, path):
        super().__init__("get_inputs(): %s changes from draw to draw, and only tensors may"
                         % ("input " + path if path else "the number of inputs"))


class InputsUnlike(Exception):
    """The names in a dict of inputs are not the first arguments of forward."""

    def __init__(self, got, names):
        super().__init__("get_inputs() names %s, and forward takes %s"
                         % (", ".join(map(str, got)), ", ".join(names)))


class ShapesVary(InputsVary):
    def __init__(self, path, one, other):
        Exception.__init__(self, "get_inputs(): input %s is %s in one draw and %s in another; "
                           "shapes and types must be the same in every draw" % (path, one, other))


def _form(t):
    return "%s %s" % (list(t.shape), str(t.dtype).split(".")[-1])


def seed_all(seed, device):
    """Seeds all generators. It is part of every call, and so of the timed part. It seeds the
    generators themselves, because torch's functions around them take 50 us on a GPU."""
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
    """The seeds of correctness trials, drawn as KernelBench does."""
    torch.manual_seed(seed)
    return [torch.randint(0, 2 ** 32 - 1, (1,)).item() for _ in range(n)]


def _cast(args, dtype):
    """Casts every tensor, indices and masks too, as KernelBench does."""
    return [t.to(dtype) if isinstance(t, torch.Tensor) else t for t in args]


class Subject:
    """One source file and its module: a reference (Model, get_inputs, ...) or a candidate
    (ModelNew)."""

    def __init__(self, path, entry, role, device, compat=None):
        self.entry, self.role, self.device = entry, role, device
        self.row = False  # a line of a file of rows: KernelBook's conventions
        self.single = False  # the oracle is the reference in float
        self.first_draw = None  # inputs that there was no room for on the device
        self.on_host = contextlib.nullcontext  # around what needs no device
        self.overlapping = None  # {(k, i)}: inputs that share memory in each draw
        self.slices = 0  # in which the oracle works; 0: as a whole
        self.room = None  # where it joins them (oracle.in_slices)
        self.carries = False  # the oracle carries out casts to narrow types
        self.narrowed = False  # its last answer left some out
        self.tf32 = False  # the league's arithmetic
        self.chose = None  # whether the last call that was off made a discrete choice
        self.compat = compat  # KernelBench's way: everything in this dtype, writable inputs
        self.source = Source(path, "kgym_" + role)
        self.module = self.wide = self.before = None
        self.kept = {}  # for each of `before`: (tensor, its version) by name
        self.names = None  # of a reference's state, as it was built
        self.loaded = None  # [(reference's name, own name)] of the loaded state
        self.template = None  # form of the inputs; the same in every draw
        self.forms = None  # "[shape] dtype" of each tensor, too
        self.strides = None  # and strides
        self.fast = None  # the default device while inputs are drawn, where one has been chosen
        self.bound, self.inputs = [], ()
        self.need = ""  # of each tensor of the reference's state (influence.py)
        self.changes = ()  # numbers of those that a call changes and a candidate needs
        self.changing = set()  # their names
        self.writes = ()  # numbers of the inputs that the reference writes to
        self.terms = 1  # that an element of the answer sums
        self.keeps = {}  # {input: kinds of structure} that laws must keep (keeping.py)
        self.own_copies = []  # of those, as the last call has left them

    def execute(self, consts=None):
        self.source.run(consts)
        self.source.entry(self.entry)
        self.module = self.wide = self.before = None
        self.template = self.forms = self.strides = self.fast = None

    def own_init(self):
        """(args, kwargs) of the reference's own get_init_inputs. KernelBench returns args,
        KernelBook [args, kwargs]."""
        function = vars(self.source.module).get("get_init_inputs")
        got = function() if function is not None else []
        both = (self.row or self.entry != "Model") and isinstance(got, (list, tuple))
        if both and len(got) == 2 and isinstance(got[0], (list, tuple)) and \
                isinstance(got[1], dict):
            return list(got[0]), dict(got[1])
        if isinstance(got, dict):
            return [], dict(got)
        return list(got), {}

    def build(self, init, kwargs, seed):
        """Constructs the module. init None: with the source's own arguments."""
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
        with self.on_host():
            made = self.source.entry(self.entry)(*args, **named)
        if isinstance(made, torch.nn.Module):
            made = made.to(self.device)
            made = made.to(self.compat) if self.compat else made
        self.module, self.wide, self.before, self.loaded = made, None, None, None
        self.names = None
        if self.role == "reference":
            self.names = [name for name, _ in self.state()]

    def draw(self, seed):
        """[(path, tensor)] of get_inputs() under this seed, on the device that it chooses."""
        seed_all(seed, self.device)
        function, named = self.source.entry("get_inputs"), []
        with torch.device(self.fast) if self.fast else self.on_host():
            got = self.in_order(function())
        got = _cast(got, self.compat) if self.compat else got
        template = values.take_apart(list(got), "", named)
        if self.template is None:
            self.template = template["list"]
        differs = values.difference({"list": self.template}, template)
        if differs is not None:
            raise InputsVary(differs)
        forms = [_form(t) for _, t in named]
        self.forms = self.forms or forms
        for (path, _), one, other in zip(named, self.forms, forms):
            if one != other:
                raise ShapesVary(path, one, other)
        if self.strides is None:
            self.strides = [list(layout.on(self.device, t)) for _, t in named]
        return named

    def in_order(self, got):
        """What get_inputs() returned, as forward's arguments in order. A tensor is the only one; a
        dict names them."""
        if isinstance(got, torch.Tensor):
            return [got]
        if not isinstance(got, dict):
            return got
        forward = getattr(self.source.entry(self.entry), "forward", None)
        names = [] if forward is None else list(inspect.signature(forward).parameters)[1:]
        if set(names[:len(got)]) != set(got):
            raise InputsUnlike(got, names)
        return [got[name] for name in names[:len(got)]]

    def move(self, named):
        """Moves all inputs to the device, where they have the strides of the first draw."""
        return [(path, self.moved(i, t)) for i, (path, t) in enumerate(named)]

    def moved(self, i, t):
        """The same of input i alone."""
        return layout.laid(t.to(self.device), self.strides[i])

    def bind(self, tensors):
        """Sets the inputs of the next calls."""
        self.bound = tensors
        if self.template is None:
            self.inputs = tuple(tensors)
        else:
            left = iter(tensors)
            self.inputs = tuple(values.put_together(part, left) for part in self.template)
        self.wide_inputs = None
        self._keep_changing()

    def _keep_changing(self):
        """Copies the tensors of a reference that a call may change. It does so outside of calls,
        which may be timed. Tensors that are unchanged are not copied again, because the device
        should be quiet before a call."""
        if self.role != "reference":
            return
        now = self._may_change(self.module)
        if self.before is None or not self._as_kept(now):
            self.before = {n: t.clone() for n, t in now.items()}
            self.kept = {n: (t, None if t.is_inference() else t._version) for n, t in now.items()}

    def _as_kept(self, now):
        """True if these are the same tensors, not written since. Those made in inference mode
        do not tell."""
        return now.keys() == self.kept.keys() and all(
            self.kept[n][0] is t and not t.is_inference() and self.kept[n][1] == t._version
            for n, t in now.items())

    def state(self):
        """[(name, tensor)] of parameters and persistent buffers, in the module's order. Of a
        reference, those that it was built with: a call may register more."""
        if not isinstance(self.module, torch.nn.Module):
            return []
        there = {name: t for name, t in torch.nn.Module.state_dict(self.module).items()
                 if isinstance(t, torch.Tensor)}
        return [(name, there[name]) for name in (there if self.names is None else self.names)
                if name in there]

    def _may_change(self, module):
        """Buffers by name, and parameters that calls of the reference are known to change."""
        if not isinstance(module, torch.nn.Module):
            return {}
        found = dict(module.named_buffers())
        if self.changing:
            parameters = torch.nn.Module.named_parameters(module, remove_duplicate=False)
            found.update((n, t) for n, t in parameters if n in self.changing)
        return found

    def buffers(self):
        if not isinstance(self.module, torch.nn.Module):
            return {}
        return dict(self.module.named_buffers())

    def load(self, given):
        """Loads the reference's state, given as [(name, tensor)]: by name or by order and shape
        (mapping.py), or by the module's own load_reference_state. Other tensors of the module
        keep their values. Then prepare() is called."""
        how = self._load(given)
        prepare = getattr(self.module, "prepare", None)
        if callable(prepare):
            prepare()
        self.wide = None
        self._keep_changing()
        return how

    def _needs(self, given):
        return self.need if len(self.need) == len(given) else influence.NEEDED * len(given)

    def _load(self, given):
        own, need = self.state(), self._needs(given)
        self.changing = {given[i][0] for i in self.changes if i < len(given)}
        if not given:
            return "nothing"
        how, pairs = "name", mapping.by_name(given, need, own)
        if pairs is None or len(pairs) < len(given):
            same = mapping.one_by_one(given, own) if pairs is None else None
            if same is None and callable(getattr(self.module, "load_reference_state", None)):
                return self._by_method(given)
            if pairs is None:
                how, pairs = "order", same or mapping.by_order(given, need, own)
        if pairs is None:
            raise BadState("the reference's state and the module's do not match")
        there, theirs = dict(own), dict(given)
        for name, mine in pairs:
            there[mine].copy_(theirs[name])
        self.loaded = pairs
        return how

    def _by_method(self, given):
        """The module may keep the tensors in any form, but for those that calls change."""
        self.module.load_reference_state({name: t.clone() for name, t in given})
        need = "".join(influence.NEEDED if name in self.changing else influence.IDLE
                       for name, _ in given)
        self.loaded = mapping.by_name(given, need, self.state())
        return "method"

    def snapshot(self, left=False):
        """The current state of what was loaded. It goes by name, because a call may replace a
        buffer's tensor. left: only what calls of the reference change. What they do not change a
        module may keep otherwise, a weight folded into another."""
        now = self.state()
        if self.loaded is not None:
            there = dict(now)
            now = [(name, there[mine]) for name, mine in self.loaded if mine in there]
        if left:
            now = [(name, t) for name, t in now if name in self.changing]
        return now

    def call(self, wide, near=0, seed=None, rounding=0):
        inputs = self.inputs
        if self.compat:
            inputs = self.own_inputs()
        elif self.writes:
            inputs = self._copy_written()
        if wide:
            return self._call_wide(inputs, seed)
        if near:
            return self._call_near(inputs, near, 2 ** rounding)
        return self._call_rounded(inputs, rounding) if rounding else self.module(*inputs)

    def own_inputs(self):
        """Copies of the inputs, which may be written."""
        return oracle.each(layout.copy, self.inputs)

    def _copy_written(self):
        """The inputs, with copies of those that the reference writes to. Both sides get them,
        and so every call begins from what IN holds."""
        self.own_copies = []  # those of the last call first give their memory back
        mine = {i: layout.copy(self.bound[i]) for i in self.writes if i < len(self.bound)}
        self.own_copies = [(str(i), t) for i, t in mine.items()]
        left = iter([mine.get(i, t) for i, t in enumerate(self.bound)])
        if self.template is None:
            return tuple(left)
        return tuple(values.put_together(part, left) for part in self.template)

    def written(self, came):
        """[(number, tensor)] of the inputs that the reference writes to, as the last call has left
        their copies. came: as they came."""
        return [(name, self.bound[int(name)] if came else t) for name, t in self.own_copies]

    def _call_near(self, inputs, near, times):
        """Calls on inputs that are moved by so many rounding errors, which shows how large the
        module's own error is. Without an oracle in double, the result of every operation is
        moved too. In the league tf32, products get cut operands. Where operands are rounded,
        inputs stay as they are."""
        move, nothing = oracle.Mover(), contextlib.nullcontext()
        with oracle.Watching() as mode, oracle.Rounding(move) if self.single else nothing, \
                oracle.tf32(*KEPT[near]) if self.tf32 else nothing:
            if near != wire.ROUND:
                inputs = oracle.each(lambda t: move.input(t, times), inputs)
            answer = self.module(*inputs)
        self.chose = mode.chose
        return answer

    def _call_rounded(self, inputs, number):
        with oracle.Choosing(number, self.tf32) as mode:
            answer = self.module(*inputs)
        self.chose = mode.chose or oracle.scripted(self.module)
        return answer

    def _call_wide(self, inputs, seed):
        """Calls in double precision, starting from the state of the time when the inputs came.
        Where calls change state, this needs one call in float for each bind. State of the wide
        module does not count. Casts to narrow types are left out, where it runs so."""
        casts = unrounded.Unrounded()
        tensors = self.bound + [t for _, t in self.state()]
        with oracle.double_by_default(oracle.widest(tensors)):
            try:
                with contextlib.nullcontext() if self.carries else casts:
                    return self._wide_answer(inputs, seed)
            except Exception:
                if not casts.narrowed:
                    raise
            finally:
                self.narrowed = casts.narrowed
            self.narrowed = False
            self._seed_again(seed)
            return self._wide_answer(inputs, seed)

    def _seed_again(self, seed):
        if seed is not None:
            seed_all(seed, self.device)

    def _wide_answer(self, inputs, seed):
        try:
            return self._answer_in_double(inputs)
        except RuntimeError:
            self._seed_again(seed)
            with oracle.Widening():
                return self._answer_in_double(inputs)

    def _answer_in_double(self, inputs):
        module = self._widened()
        if self.slices > 1:
            return oracle.in_slices(module, inputs, self.slices, self.room)
        return module(*oracle.wide(inputs))

    def _widened(self):
        module = copy.deepcopy(self.module)
        for name, t in self._may_change(module).items() if self.before else ():
            if name in self.before:  # a call may have made it
                t.copy_(self.before[name])
        return oracle.widen(module)
