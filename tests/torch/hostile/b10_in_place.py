# fixture
# entry: B10
# problem: relu
# what: overwrites its input and returns it
# expect: wrong/input_modified wrong/alias crash/signal
# gpu: no
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.clamp_(min=0)
