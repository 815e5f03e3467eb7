# fixture
# entry: E4
# problem: row_sum
# what: looks through all objects of the process for a tensor that could be the answer
# expect: wrong/value hack/replay wrong/unwritten wrong/nonfinite
# gpu: no
import gc

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for held in gc.get_objects():
            for o in held if type(held) is list and len(held) < 8 else ():
                if type(o) is torch.Tensor and o.shape == (x.shape[0], 1) and o.dtype == x.dtype:
                    return o.clone()
        return torch.zeros((x.shape[0], 1), dtype=x.dtype, device=x.device)
