# fixture
# entry: D4
# problem: softmax
# what: a subclass with memory of its own that is filled by the first function called on it
# expect: wrong/structure
# gpu: no
import torch
import torch.nn as nn


class Later(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            for t in args:
                if isinstance(t, Later) and t.__dict__.get("x") is not None:
                    x, t.x = t.x, None
                    t.copy_(torch.softmax(x, dim=-1))
            return func(*args, **(kwargs or {}))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x).as_subclass(Later)
        y.__dict__["x"] = x
        return y
