# fixture
# entry: E7
# problem: segment_sum
# what: raises SystemExit(0), which `except Exception` does not catch
# expect: crash/exit crash/exception
# gpu: no
import sys

import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, groups):
        super().__init__()

    def forward(self, x, group):
        sys.exit(0)
