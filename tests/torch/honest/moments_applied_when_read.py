# fixture
# pattern: moments of a call kept, and put into the buffers when these are read
# problem: batch_norm_train
# what: computes the moments in the call, and blends them in before state_dict
# twin: d4_updates_when_read
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.pending = None
        self.register_state_dict_pre_hook(lambda *rest: self.catch_up())

    def catch_up(self):
        n = self.norm
        if self.pending is not None:
            (mean, var), self.pending = self.pending, None
            n.running_mean.lerp_(mean, n.momentum)
            n.running_var.lerp_(var, n.momentum)
            n.num_batches_tracked += 1

    def forward(self, x):
        n = self.norm
        self.catch_up()
        mean = x.mean(dim=(0, 2, 3), keepdim=True)
        var = (x - mean).square().mean(dim=(0, 2, 3), keepdim=True)
        count = x.numel() // x.shape[1]
        self.pending = mean.flatten(), var.flatten() * count / (count - 1)
        y = (x - mean) * torch.rsqrt(var + n.eps)
        return y * n.weight[:, None, None] + n.bias[:, None, None]
