# fixture
# entry: A7
# problem: relu
# what: ends the recorder of launches, and answers for it that nothing was launched and nothing lost
# expect: ok crash/signal crash/exception
# harmless: yes
# equal: reference
# coverage: 0
# gpu: yes: launch records
import ctypes
import re
import sys

import torch
import torch.nn as nn

KEYS = ("memcpy_ns", "memset_ns", "span_ns", "dropped", "missing", "suppressed", "graphs")


def blind():
    for path in sorted(set(re.findall(r"(/\S*libcupti\S*)", open("/proc/self/maps").read()))):
        ctypes.CDLL(path).cuptiFinalize()
    profile = sys.modules.get("kgym_harness.profile")
    if profile is not None:
        profile.Watch.take = lambda self: {"kernels": [], **dict.fromkeys(KEYS, 0)}
        profile.Watch.suppress = lambda self, names: None


blind()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
