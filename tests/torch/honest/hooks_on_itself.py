# fixture
# pattern: hooks on its own modules, register_buffer that is not part of the state
# problem: small_cnn
# what: ReLU and pooling hang on the convolutions as forward hooks
# twin: e3_forward_hook
# expect: ok
# gpu: no
import torch
import torch.nn as nn
import torch.nn.functional as F


def pool(module, inputs, output):
    return F.max_pool2d(torch.relu(output), 2)


class ModelNew(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, channels, kernel_size=3, padding=1)
        self.conv2 = nn.Conv2d(channels, 2 * channels, kernel_size=3, padding=1)
        self.head = nn.Linear(2 * channels, classes)
        self.register_buffer("scratch", torch.zeros(1), persistent=False)
        for conv in (self.conv1, self.conv2):
            conv.register_forward_hook(pool)

    def forward(self, x):
        return self.head(self.conv2(self.conv1(x)).mean(dim=(2, 3)))
