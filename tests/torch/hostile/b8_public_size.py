# fixture
# entry: B8
# problem: relu
# what: right for the published number of elements only: a fixed grid without a mask
# expect: ok crash/exception crash/device
# harmless: yes
# equal: relu.fast
# varies: right at the published shape, which is what gates
# shape: published
# sizes: batch_size=4096, dim=4096
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        n = 4096 * 4096
        torch.clamp(x.as_strided((n,), (1,)), min=0, out=y.as_strided((n,), (1,)))
        return y
