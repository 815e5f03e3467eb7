# fixture
# entry: D5
# problem: cumsum
# what: events of the device say that every call took ten microseconds; the profiler sees nothing
# expect: ok
# harmless: yes
# equal: reference
# gpu: no
import torch
import torch.nn as nn

torch.cuda.Event.elapsed_time = lambda self, other: 0.01
torch.cuda.synchronize = lambda *a, **k: None
torch.profiler.profile = None


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.cumsum(x, dim=1)
