# fixture
# entry: E14
# problem: relu
# what: replaces torch's own files and the harness's by its own text
# expect: ok crash/exception compile_error/load
# harmless: yes
# equal: reference
# attacks: host planted
# gpu: no
import os
import sys

import torch
import torch.nn as nn

for module in list(sys.modules.values()):
    path = getattr(module, "__file__", None) or ""
    if path.endswith((os.path.join("nn", "functional.py"), "wire.py")) or "harness" in path:
        try:
            with open(path, "a") as f:
                f.write("\nallclose = None\n")
        except OSError:
            continue


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
