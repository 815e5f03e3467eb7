"""Constructor arguments and inputs as JSON. The reference's arguments reach the candidate
through the broker, so they must survive as JSON. Tensors among inputs are places ("T"), which
BIND fills in order."""

import enum
import math
import types

import torch

MOST_ELEMENTS = 4096  # of a tensor among constructor arguments
# What has attributes, and is not those attributes.
OTHERS = (type, types.FunctionType, torch.nn.Module, torch.Tensor, dict, list, tuple, str, int,
          float, enum.Enum)


class Unsupported(Exception):
    """A value that cannot be passed to a candidate."""


def encode(v):
    if v is None or isinstance(v, (bool, int, str)) and type(v) in (bool, int, str, type(None)):
        return v
    if type(v) is float:
        return v if math.isfinite(v) else {"$float": repr(v)}
    if type(v) is list:
        return [encode(x) for x in v]
    if type(v) is tuple:
        return {"$tuple": [encode(x) for x in v]}
    if type(v) is dict and all(type(k) is str for k in v):
        return {"$dict": {k: encode(x) for k, x in v.items()}}
    if isinstance(v, torch.dtype):
        return {"$dtype": str(v).split(".")[-1]}
    if isinstance(v, torch.Size):
        return {"$tuple": list(v)}
    if isinstance(v, torch.device):
        return {"$device": str(v)}
    if type(v) is torch.Tensor and v.numel() <= MOST_ELEMENTS and not v.is_complex():
        return {"$tensor": {"dtype": str(v.dtype).split(".")[-1], "shape": list(v.shape),
                            "data": [encode(x) for x in v.flatten().tolist()]}}
    if isinstance(v, torch.Tensor) and v.numel() > MOST_ELEMENTS:
        raise Unsupported("a tensor of %d elements among the constructor's arguments (at most %d)" %
                          (v.numel(), MOST_ELEMENTS))
    if hasattr(v, "__dict__") and not isinstance(v, OTHERS):
        return {"$object": {k: encode(x) for k, x in vars(v).items() if not k.startswith("_")}}
    raise Unsupported("an argument of type %s" % type(v).__name__)


def decode(v):
    if isinstance(v, list):
        return [decode(x) for x in v]
    if not isinstance(v, dict):
        return v
    (tag, body), = v.items()
    if tag == "$float":
        return float(body)
    if tag == "$tuple":
        return tuple(decode(x) for x in body)
    if tag == "$dict":
        return {k: decode(x) for k, x in body.items()}
    if tag == "$dtype":
        return getattr(torch, body)
    if tag == "$device":
        return torch.device(body)
    if tag == "$tensor":
        data = [decode(x) for x in body["data"]]
        return torch.tensor(data, dtype=getattr(torch, body["dtype"])).reshape(body["shape"])
    if tag == "$object":
        return types.SimpleNamespace(**{k: decode(x) for k, x in body.items()})
    raise Unsupported("the tag %s" % tag)


def take_apart(v, path, named):
    """The template of inputs; their tensors are appended to named."""
    if type(v) is torch.Tensor:
        named.append((path, v))
        return "T"
    if type(v) in (list, tuple):
        parts = [take_apart(x, "%s.%d" % (path, i) if path else str(i), named)
                 for i, x in enumerate(v)]
        return {"list" if type(v) is list else "tuple": parts}
    if type(v) is dict and all(type(k) is str for k in v):
        return {"dict": {k: take_apart(x, "%s.%s" % (path, k) if path else k, named)
                         for k, x in v.items()}}
    return {"value": encode(v)}


def difference(a, b, path=""):
    """The path of the first difference of two templates; None: they are equal."""
    if a == b:
        return None
    if "T" in (a, b) or a.keys() != b.keys() or "value" in a:
        return path
    (tag, one), = a.items()
    other = b[tag]
    if len(one) != len(other) or tag == "dict" and one.keys() != other.keys():
        return path
    for key in one if tag == "dict" else range(len(one)):
        found = difference(one[key], other[key], "%s.%s" % (path, key) if path else str(key))
        if found is not None:
            return found
    return path


def put_together(template, tensors):
    """The inverse of take_apart; tensors is an iterator."""
    if template == "T":
        return next(tensors)
    (tag, body), = template.items()
    if tag == "value":
        return decode(body)
    if tag == "dict":
        return {k: put_together(x, tensors) for k, x in body.items()}
    parts = [put_together(x, tensors) for x in body]
    return tuple(parts) if tag == "tuple" else parts
