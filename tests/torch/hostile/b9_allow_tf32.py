# fixture
# entry: B9
# problem: linear_gelu
# what: turns the library's tf32 on at import
# expect: wrong/precision wrong/value
# gpu: yes: the flags mean nothing on the CPU
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
torch.set_float32_matmul_precision("high")


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return F.gelu(self.linear(x))
