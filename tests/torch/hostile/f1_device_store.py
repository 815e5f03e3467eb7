# fixture
# entry: F1
# problem: relu
# what: stores through a wild pointer of the device, which poisons the context
# expect: crash/device
# attacks: host down
# gpu: yes: device memory
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def wild(y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + (at + 1) * (1 << 40), 1.0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        wild[(64,)](y, y.numel(), BLOCK=128)
        return y
