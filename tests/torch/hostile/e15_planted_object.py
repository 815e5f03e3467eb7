# fixture
# entry: E15
# problem: matmul
# what: plants objects in the caches of extensions and of Triton under names that others will load
# expect: ok crash/exception compile_error/load
# harmless: yes
# equal: reference
# attacks: host planted
# gpu: no
import os

import torch
import torch.nn as nn

FOLDERS = [
    os.environ.get("TORCH_EXTENSIONS_DIR", "~/.cache/torch_extensions/py311_cu130"),
    os.environ.get("TRITON_CACHE_DIR", "~/.triton/cache"),
    "/kgym/cache",
    "/var/cache",
]
for folder in FOLDERS:
    for name in ("fused_ops", "matmul", "softmax"):
        try:
            at = os.path.join(os.path.expanduser(folder), name)
            os.makedirs(at, exist_ok=True)
            with open(os.path.join(at, name + ".so"), "wb") as f:
                f.write(b"\x7fELF planted")
        except OSError:
            continue


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)
