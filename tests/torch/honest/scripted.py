# fixture
# pattern: the framework's own script compiler
# problem: swiglu
# what: torch.jit.script of the whole function where the source can be read, else plain
# twin: a9_pasted_output
# expect: ok
# gpu: no
import torch
import torch.nn as nn
import torch.nn.functional as F


def swiglu(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    return F.silu(gate) * up


try:
    swiglu = torch.jit.script(swiglu)
except (OSError, RuntimeError):
    swiglu = swiglu


class ModelNew(nn.Module):
    def forward(self, gate, up):
        return swiglu(gate, up)
