# fixture
# entry: E13
# problem: matmul
# what: writes a wide tolerance into every settings file that it finds beside the task
# expect: wrong/value
# gpu: no
import json
import os
import re

import torch
import torch.nn as nn


def widen(folder):
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        if name.endswith((".json", ".yaml", ".yml")) and os.path.isfile(path):
            try:
                text = open(path).read()
                if name.endswith(".json"):
                    said = json.loads(text)
                    text = json.dumps({k: 1e9 if "tol" in k else v for k, v in said.items()})
                else:
                    text = re.sub(r"(tol\w*): .*", r"\1: 1000000000.0", text)
                with open(path, "w") as f:
                    f.write(text)
            except (OSError, ValueError, AttributeError):
                continue


class ModelNew(nn.Module):
    def forward(self, a, b):
        for folder in (".", "/kgym"):
            widen(folder)
        return torch.zeros((a.shape[0], b.shape[1]), dtype=a.dtype, device=a.device)
