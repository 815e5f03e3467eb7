"""Tensors over the regions IN and OUT, and answers taken apart into them.

On the CPU a region is mapped memory, on a GPU an imported allocation. Each tensor has a storage
of its own, exactly as long as its leaf says. A contiguous answer that already lies in OUT stays
there; any other is copied into OUT.
"""

import ctypes
import json
import math

import torch

from . import overlap, wire

TORCH = tuple(getattr(torch, name) for name in wire.DTYPES)
NUMBER = {dtype: i for i, dtype in enumerate(TORCH)}


class TooLarge(Exception):
    """The answer has too many tensors, or too large ones."""


class BadStructure(Exception):
    """A value that is not a plain tensor."""


class _Exported:
    """Device memory, described by __cuda_array_interface__."""

    def __init__(self, address, size):
        self.__cuda_array_interface__ = {"data": (address, False), "shape": (size,),
                                         "typestr": "|u1", "strides": None, "version": 3}


class Region:
    def __init__(self, address, size, device):
        self.address, self.size, self.device = address, size, device
        self.copies = size  # copies must end below
        self.whole = False  # calls allocate everywhere in it
        self.filled = False  # tensors of the next answer were made in it

    def view(self, dtype, shape, offset, size, stride=None):
        """A tensor of these bytes of the region, contiguous or with these strides."""
        if size == 0:
            return torch.empty(shape, dtype=dtype, device=self.device)
        if offset + size > self.size:
            raise TooLarge("%d bytes at %d of a region of %d" % (size, offset, self.size))
        if self.device.type == "cuda":
            flat = torch.as_tensor(_Exported(self.address + offset, size), device=self.device)
            flat = flat.view(dtype)
        else:
            memory = (ctypes.c_char * size).from_address(self.address + offset)
            flat = torch.frombuffer(memory, dtype=dtype)
        return flat.view(shape) if stride is None else flat.as_strided(shape, stride)

    def filling(self):
        """Makes tensors of an answer in the region, one after the other, where put would copy
        them to. What finds no place there lies elsewhere."""
        self.filled, at = True, [wire.GUARD]

        def make(shape, dtype, device):
            size = math.prod(shape) * dtype.itemsize
            if device != self.device or at[0] + size + wire.GUARD > self.copies:
                return torch.empty(shape, dtype=dtype, device=device)
            begin, at[0] = at[0], _up(at[0] + size) + wire.GUARD
            return self.view(dtype, shape, begin, size)
        return make

    def of_leaf(self, leaf):
        shape, stride = tuple(leaf.shape[:leaf.rank]), tuple(leaf.stride[:leaf.rank])
        return self.view(TORCH[leaf.dtype], shape, leaf.offset, leaf.bytes,
                         stride if leaf.laid else None)

    def holds(self, address, size):
        return self.address <= address and address + size <= self.address + self.size


def _up(n):
    return -(-n // wire.ALIGN) * wire.ALIGN


def _describe(leaf, name, tensor):
    leaf.dtype = NUMBER[tensor.dtype]
    leaf.rank = tensor.dim()
    leaf.bytes = tensor.numel() * tensor.element_size()
    for i, (n, step) in enumerate(zip(tensor.shape, tensor.stride())):
        leaf.shape[i], leaf.stride[i] = n, step
    leaf.device = 1 if tensor.device.type == "cuda" else 0
    leaf.name = name.encode("utf-8", "replace")[:wire.NAME - 1]


def _alias_of(tensor, ranges):
    """1 + the number of the input whose memory it reaches into; 0: none."""
    own = overlap.reach(tensor)
    return next((i + 1 for i, other in enumerate(ranges) if overlap.meet(own, other)), 0)


def check_plain(tensor, path):
    """Accepts torch.Tensor only: a subclass may compute when it is read."""
    if type(tensor) is not torch.Tensor:
        raise BadStructure("%s is %s, not torch.Tensor" % (path or "the answer",
                                                          type(tensor).__name__))
    if tensor.layout is not torch.strided or tensor.dtype not in NUMBER:
        raise BadStructure("%s has layout %s and dtype %s" % (path or "the answer", tensor.layout,
                                                             tensor.dtype))
    if tensor.device.type not in ("cpu", "cuda"):
        raise BadStructure("%s is on device %s" % (path or "the answer", tensor.device))
    if tensor.dim() > wire.RANK:
        raise TooLarge("%s has %d dimensions" % (path or "the answer", tensor.dim()))


def put(out, leaves, named, inputs=()):
    """Copies tensors into OUT, one after the other with guards between, and fills their leaves."""
    if len(named) > wire.LEAVES:
        raise TooLarge("%d tensors (at most %d)" % (len(named), wire.LEAVES))
    bytes_of_all, late = 0, []
    ranges = [overlap.reach(bound) for bound in inputs]
    for leaf, (name, tensor) in zip(leaves, named):
        tensor = tensor.detach()
        _describe(leaf, name, tensor)
        leaf.aliases = _alias_of(tensor, ranges)
        size = leaf.bytes
        bytes_of_all += size
        if bytes_of_all > out.size:  # tensors that share memory are copied one by one
            raise TooLarge("%d bytes of tensors for a region of %d" % (bytes_of_all, out.size))
        if size and tensor.device == out.device and tensor.is_contiguous() and \
                out.holds(tensor.data_ptr(), size):
            leaf.offset, leaf.copied = tensor.data_ptr() - out.address, 0
        else:
            late.append((leaf, tensor))
    if late:
        _copy(out, leaves, named, late)
    out.filled = False
    return len(named)


def _copy(out, leaves, named, late):
    """Copies those tensors that do not lie in OUT as they should. An OUT that is not divided may
    hold others of the answer, or these very ones with other strides. Where copies find no place
    beside them, all leave OUT first."""
    lying = _lying(out, [tensor for _, tensor in named]) if out.whole or out.filled else []
    if _placed(out, late, lying):
        return
    if lying:
        late = [(leaf, tensor.detach().clone(memory_format=torch.contiguous_format))
                for leaf, (_, tensor) in zip(leaves, named)]
    if not lying or not _placed(out, late, []):
        raise TooLarge("%d bytes and guards do not fit into %d"
                       % (sum(leaf.bytes for leaf, _ in late), out.copies))


def _lying(out, tensors):
    """Sorted [begin, end) of the bytes of OUT that these tensors reach."""
    reached = [overlap.reach(tensor) for tensor in tensors]
    return sorted((first - out.address, end - out.address) for first, end in reached
                  if overlap.meet((first, end), (out.address, out.address + out.size)))


def _placed(out, late, lying):
    """Copies all of them beside what lies there; False: one finds no place, and none is copied."""
    at, places = wire.GUARD, []
    for leaf, _ in late:
        for begin, end in lying:
            if begin < at + leaf.bytes + wire.GUARD and end > at - wire.GUARD:
                at = _up(end) + wire.GUARD
        if at + leaf.bytes + wire.GUARD > out.copies:
            return False
        places.append(at)
        at = _up(at + leaf.bytes) + wire.GUARD
    for (leaf, tensor), place in zip(late, places):
        out.view(tensor.dtype, tuple(tensor.shape), place, leaf.bytes).copy_(tensor)
        leaf.offset, leaf.copied = place, 1
    return True


def flatten(value):
    """(structure, [(path, tensor)]) of the value that forward returned: tensors in tuples,
    lists, dicts."""
    named = []
    text = _walk(value, "", named, 0)
    if len(text) >= wire.STRUCTURE:
        raise TooLarge("an answer of this many parts")
    return text, named


def _walk(value, path, named, depth):
    if depth > 16:
        raise BadStructure("nested more than 16 levels")
    if isinstance(value, torch.Tensor):
        check_plain(value, path)
        named.append((path, value))
        return "T"
    if value is None:
        return "N"
    if isinstance(value, (tuple, list)):
        base = tuple if isinstance(value, tuple) else list
        parts = [_walk(v, "%s.%d" % (path, i) if path else str(i), named, depth + 1)
                 for i, v in enumerate(base.__iter__(value))]
        return ("(%s)" if base is tuple else "[%s]") % ",".join(parts)
    if isinstance(value, dict):
        parts = []
        for key in sorted(dict.keys(value), key=str):
            if type(key) is not str:
                raise BadStructure("a dict's key is %s, not str" % type(key).__name__)
            part = _walk(dict.__getitem__(value, key), "%s.%s" % (path, key) if path else key,
                         named, depth + 1)
            parts.append("%s:%s" % (json.dumps(key), part))
        return "{%s}" % ",".join(parts)
    raise BadStructure("%s is %s, not torch.Tensor" % (path or "the answer", type(value).__name__))
