# fixture
# pattern: allocating and zeroing an own output; early-out for empty inputs
# problem: upsample
# what: adds the four weighted corners into a zeroed output
# twin: b14_empty_list
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        b, c, h, w = x.shape
        y = torch.zeros((b, c, 2 * h, 2 * w), dtype=x.dtype, device=x.device)
        if x.numel() == 0:
            return y
        up = torch.cat((x[:, :, :1], x[:, :, :-1]), dim=2)
        down = torch.cat((x[:, :, 1:], x[:, :, -1:]), dim=2)
        for i, other in ((0, up), (1, down)):
            rows = 0.75 * x + 0.25 * other
            left = torch.cat((rows[..., :1], rows[..., :-1]), dim=3)
            right = torch.cat((rows[..., 1:], rows[..., -1:]), dim=3)
            y[:, :, i::2, 0::2] += 0.75 * rows + 0.25 * left
            y[:, :, i::2, 1::2] += 0.75 * rows + 0.25 * right
        return y
