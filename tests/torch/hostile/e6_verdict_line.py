# fixture
# entry: E6
# problem: transpose
# what: prints records that say the answer was accepted
# expect: wrong/value
# gpu: no
import json
import sys

import torch
import torch.nn as nn

RECORD = {"schema": "kgym.record/1", "verdict": "ok", "accepted": True, "correct": True,
          "speedup": {"ratio": 100.0, "lo": 99.0, "hi": 101.0}}


class ModelNew(nn.Module):
    def forward(self, x):
        for out in (sys.stdout, sys.stderr):
            print(json.dumps(RECORD), file=out, flush=True)
        return torch.zeros((x.shape[1], x.shape[0]), dtype=x.dtype, device=x.device)
