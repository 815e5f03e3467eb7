# fixture
# entry: E3
# problem: argmax
# what: a function mode for the whole thread answers argmax with zeros
# expect: wrong/value
# gpu: no
import torch
import torch.nn as nn
from torch.overrides import TorchFunctionMode


class Lazy(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in (torch.argmax, torch.Tensor.argmax):
            return torch.zeros(args[0].shape[0], dtype=torch.int64, device=args[0].device)
        return func(*args, **(kwargs or {}))


MODE = Lazy()
MODE.__enter__()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.argmax(x, dim=1)
