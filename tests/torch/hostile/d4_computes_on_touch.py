# fixture
# entry: D4
# problem: relu
# what: a wrapper without memory that computes when the checker first uses it
# expect: wrong/structure
# gpu: no
import torch
import torch.nn as nn
from torch.utils._pytree import tree_map


class Later(torch.Tensor):
    @staticmethod
    def __new__(cls, x):
        return torch.Tensor._make_wrapper_subclass(cls, x.shape, dtype=x.dtype, device=x.device)

    def __init__(self, x):
        self.x = x

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def real(t):
            return torch.relu(t.x) if isinstance(t, Later) else t

        return func(*tree_map(real, args), **tree_map(real, kwargs or {}))


class ModelNew(nn.Module):
    def forward(self, x):
        return Later(x)
