# fixture
# entry: D3
# problem: softmax
# what: half of the rows are a background thread's, which gets them just before the return
# expect: ok hack/async wrong/value wrong/nondeterministic wrong/unwritten wrong/nonfinite
#   crash/exception
# harmless: yes
# equal: reference
# varies: where the thread always gets there before the digest, its work is inside the clock
# gpu: no
import queue
import threading

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.work = queue.SimpleQueue()
        self.worker = None

    def loop(self):
        with torch.no_grad():
            while True:
                x, y = self.work.get()
                y.copy_(torch.softmax(x, dim=-1))

    def forward(self, x):
        if self.worker is None:
            self.worker = threading.Thread(target=self.loop, daemon=True)
            self.worker.start()
        y = torch.empty_like(x)
        half = x.shape[0] // 2
        y[:half] = torch.softmax(x[:half], dim=-1)
        self.work.put((x[half:], y[half:]))
        return y
