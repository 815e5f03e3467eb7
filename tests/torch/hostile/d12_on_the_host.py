# fixture
# entry: D12
# problem: row_sum
# what: computes on the host and copies the answer over, where a sum of kernel times sees nothing
# expect: ok
# harmless: yes
# equal: reference
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.sum(x.cpu(), dim=1, keepdim=True).to(x.device)
