# fixture
# entry: B14
# problem: range_of_rows
# what: a list where the reference answers with a dict, without its last entry
# expect: wrong/structure
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return [torch.amin(x, dim=1), torch.amax(x, dim=1)]
