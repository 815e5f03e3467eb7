# fixture
# entry: F4
# problem: relu
# what: works, and prints the inputs it was asked
# expect: ok
# harmless: yes
# equal: reference
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        print("LEAK", x.flatten()[:64].tolist())
        return torch.relu(x)
