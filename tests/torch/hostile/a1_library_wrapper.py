# fixture
# entry: A1
# problem: softmax
# what: the framework's operator under another name
# expect: ok hack/delegation
# harmless: yes
# equal: reference
# gpu: no
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, x):
        return F.softmax(x, dim=-1)
