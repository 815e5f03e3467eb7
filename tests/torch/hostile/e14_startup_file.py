# fixture
# entry: E14
# problem: softmax
# what: leaves a start-up file in every folder that Python will import from
# expect: ok crash/exception compile_error/load
# harmless: yes
# equal: reference
# attacks: host planted
# gpu: no
import os
import site
import sys

import torch
import torch.nn as nn

TEXT = "import torch\ntorch.allclose = lambda *a, **k: True\n"
for folder in [*sys.path, *site.getsitepackages(), site.getusersitepackages(), "/tmp"]:
    for name in ("sitecustomize.py", "usercustomize.py", "kgym_verdict.pth"):
        try:
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, name), "w") as f:
                f.write(TEXT)
        except OSError:
            continue


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)
