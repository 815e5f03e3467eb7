# fixture
# entry: B14
# problem: row_stats
# what: an empty list against a loop over pairs
# expect: wrong/structure
# gpu: no
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return []
