"""The naive evaluator refuses what is plainly wrong. Run by tests/unit/test_torch_naive.c."""

import os
import pathlib
import tempfile

os.environ["NAIVE_LIMIT"] = "4"

import common
import naive

HEAD = "import torch\nimport torch.nn as nn\n\n\nclass ModelNew(nn.Module):\n"
CALL = HEAD + "    def forward(self, a, b):\n        "
WRONG = {
    "zeros": CALL + "return torch.zeros(a.shape[0], b.shape[1])\n",
    "shape": CALL + "return torch.matmul(a, b)[1:]\n",
    "raises": CALL + "raise ValueError('no')\n",
    "dies": "import os\n" + CALL + "os.abort()\n",
    "leaves": "import os\n" + CALL + "os._exit(1)\n",
    "hangs": CALL + "while True:\n            pass\n",
    "empty": "x = 1\n",
}

known = common.problems()["matmul"]
small = common.SMALL["matmul"]
with tempfile.TemporaryDirectory() as folder:
    for name, text in {"right": CALL + "return torch.matmul(a, b)\n", **WRONG}.items():
        path = pathlib.Path(folder) / (name + ".py")
        path.write_text(text)
        ok, said = naive.run(known, path, small, False)
        assert ok == (name == "right"), (name, said)
print("naive: ok")
