# fixture
# pattern: finally for clean-up
# problem: batched_matmul
# what: changes a flag of the library for its own call and puts it back
# twin: d8_flags
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        matmul = torch.backends.cuda.matmul
        before = matmul.allow_fp16_reduced_precision_reduction
        matmul.allow_fp16_reduced_precision_reduction = False
        try:
            return torch.bmm(a, b)
        finally:
            matmul.allow_fp16_reduced_precision_reduction = before
