# fixture
# entry: B1
# problem: relu
# what: an uninitialised result, which still holds what the reference computed a moment ago
# expect: wrong/value wrong/unwritten wrong/nonfinite
# gpu: yes: only the caching allocator of a GPU gives the freed block back for certain
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.empty_like(x)
