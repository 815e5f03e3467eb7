"""Candidates that are written from a problem of KernelBench: its own module, and five that are wrong. Each
keeps the problem's text, so its state has the reference's names."""

import re

HEAD = '''


def _each(change, value):
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {k: _each(change, v) for k, v in value.items()}
    return type(value)(_each(change, v) for v in value) if isinstance(value, (list, tuple)) else value


def _batch(args, change):
    """All tensors that are as long as the first one."""
    n = [t.shape[0] for t in args if isinstance(t, torch.Tensor) and t.dim() > 0][0]
    return [change(t, n) if isinstance(t, torch.Tensor) and t.dim() > 0 and t.shape[0] == n else t
            for t in args]


class ModelNew(Model):
'''

ZEROS = '''    def forward(self, *args):
        return _each(torch.zeros_like, super().forward(*args))
'''

# An answer of one number has no batch: then it is that of inputs whose second half is their first.
HALF_BATCH = '''    def _twice(self, t):
        for axis, n in enumerate(t.shape):
            if n > 1:
                t.narrow(axis, n // 2, n // 2).copy_(t.narrow(axis, 0, n // 2))
                break
        return t

    def forward(self, *args):
        y = super().forward(*args)
        if isinstance(y, torch.Tensor) and y.numel() == 1:
            return super().forward(*_batch(args, lambda t, n: torch.cat((t[:n - n // 2], t[:n // 2]))))
        return _each(self._twice, y)
'''

LAST_ROW = '''    def _without(self, t):
        t[(-1,) * max(1, t.dim() - 1)] = 0
        return t

    def forward(self, *args):
        y = super().forward(*args)
        if isinstance(y, torch.Tensor) and y.numel() == 1:
            return super().forward(*_batch(args, lambda t, n: t[:n - 1]))
        return _each(self._without, y)
'''

HALF_PRECISION = '''    def forward(self, *args):
        return super().forward(*_each(lambda t: t.half().to(t.dtype) if t.is_floating_point() else t, args))
'''

KEPT = '''    kept = None

    def forward(self, *args):
        if self.kept is None:
            self.kept = super().forward(*args)
        return _each(torch.clone, self.kept)
'''

WRONG = {"zeros": ZEROS, "half-batch": HALF_BATCH, "last-row": LAST_ROW,
         "half-precision": HALF_PRECISION, "first-answer": KEPT}


def right(source):
    """The problem's module under a candidate's name; None: there is none."""
    text, n = re.subn(r"\bModel\b", "ModelNew", source)
    return text if n else None


def wrong(source, kind):
    return source.rstrip() + "\n\n\nimport torch" + HEAD + WRONG[kind]
