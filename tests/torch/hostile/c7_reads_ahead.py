# fixture
# entry: C7
# problem: gelu_tanh
# what: a thread looks at where the inputs lie for new values and works before it is called
# expect: ok hack/async hack/floor hack/replay wrong/value wrong/nondeterministic wrong/unwritten
#   wrong/nonfinite crash/exception
# harmless: yes
# equal: gelu_tanh.fast
# varies: values that come while it reads them are half old; those that came before are right
# gpu: yes: runners are not stopped between calls
import threading

import torch
import torch.nn as nn
import torch.nn.functional as F


def ends(x):
    flat = x.view(-1)
    return flat[:: flat.numel() - 1].tolist()


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = self.key = self.y = None
        self.calls = 0

    def watch(self):
        side = torch.cuda.Stream()
        with torch.no_grad(), torch.cuda.stream(side):
            while True:
                x, key = self.x, ends(self.x)
                if key != self.key:
                    y = F.gelu(x, approximate="tanh")
                    side.synchronize()
                    self.key, self.y = key, y

    def forward(self, x):
        self.calls += 1
        self.x = x
        if self.calls == 4:
            threading.Thread(target=self.watch, daemon=True).start()
        if self.key is not None and self.y.shape == x.shape and self.key == ends(x):
            return self.y
        return F.gelu(x, approximate="tanh")
