# fixture
# pattern: try around an optional import
# problem: softmax
# what: uses a package where it is installed, and its own code where not
# twin: a2_silent_fallback
# expect: ok
# gpu: no
import torch
import torch.nn as nn

try:
    import a_package_that_nobody_has as fast
except ImportError:
    fast = None


class ModelNew(nn.Module):
    def forward(self, x):
        if fast is not None:
            return fast.softmax(x)
        e = torch.exp(x - x.amax(dim=-1, keepdim=True))
        return e / e.sum(dim=-1, keepdim=True)
