# fixture
# pattern: class Cfg: pass, the words pass and stream in strings, integer division
# problem: gather
# what: text that a filter by words would refuse
# twin: e12_spelled_in_pieces
# expect: ok
# gpu: no
import torch
import torch.nn as nn


class Config:
    pass


NOTE = "first pass on the default stream; threading and time.perf_counter() are not used"


class ModelNew(nn.Module):
    def forward(self, x, index):
        config = Config()
        config.half = x.shape[0] // 2  # torch.compile would also do; so would eval(exec())
        first = torch.gather(x[: config.half], 1, index[: config.half])
        return torch.cat((first, torch.gather(x[config.half :], 1, index[config.half :])))
