# fixture
# entry: B8
# problem: relu
# what: right for the published number of elements only: a fixed grid without a mask
# expect: ok wrong/value wrong/variant wrong/out_of_bounds crash/signal
# harmless: yes
# equal: relu.fast
# sizes: batch_size=4096, dim=4096
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        n = 4096 * 4096
        torch.clamp(x.view(-1)[:n], min=0, out=y.view(-1)[:n])
        return y
