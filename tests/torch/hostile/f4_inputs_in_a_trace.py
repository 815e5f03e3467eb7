# fixture
# entry: F4
# problem: softmax
# what: raises with the inputs as its message, prints that trace for the next turn to read, and
#   works
# expect: ok
# harmless: yes
# equal: reference
# gpu: no
import sys
import traceback

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        try:
            raise ValueError("LEAK " + str(x.flatten()[:64].tolist()))
        except ValueError:
            traceback.print_exc(file=sys.stderr)
        return torch.softmax(x, dim=-1)
