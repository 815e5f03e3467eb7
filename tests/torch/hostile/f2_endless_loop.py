# fixture
# entry: F2
# problem: relu
# what: never returns, and every signal that can be is ignored
# expect: timeout/tiny timeout/full
# attacks: host down
# gpu: no
import signal

import torch.nn as nn

for s in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(s, signal.SIG_IGN)


class ModelNew(nn.Module):
    def forward(self, x):
        while True:
            x = x + 0
