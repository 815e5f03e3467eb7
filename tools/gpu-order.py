#!/usr/bin/env python3
"""Does the place of an element change its time? One Triton kernel, whose blocks go through the data
from the front, from the back and from the middle out, judged with data of a quarter to four times the
second-level cache. The same work should take the same time.

    gpu-order.py KGYM OUT   [--device cuda:0] [--jobs 4] [--seconds 300] [--l2 50]

Ratios are against the same reference, y = 3 x + 1 by PyTorch. UNLIKE: no record of the verdict `ok`, or
the intervals of two orders have nothing in common and their middles differ by more than 2 %.
"""

import json
import os
import subprocess
import sys

import gpu_table

SIZES = (0.25, 1, 4)  # of the cache; input and answer together
ORDERS = {"front": "i", "back": "n - 1 - i",
          "middle": "n // 2 + tl.where(i % 2 == 0, -(i // 2) - 1, i // 2)"}
PROBLEM = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * 3 + 1


def get_inputs():
    return [torch.rand({elements})]


def get_init_inputs():
    return []
"""
KERNEL = """import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def go(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i, n = tl.program_id(0), tl.num_programs(0)
    at = ({order}) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at) * 3 + 1)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        go[(x.numel() // 1024,)](x, y, BLOCK=1024)
        return y
"""
BLOCK = 2048  # so the number of blocks is even, as the order from the middle asks


def batch(folder, l2_mb):
    """The lines, {id: (size, order)}."""
    lines, known = [], {}
    for size in SIZES:
        elements = int(size * l2_mb * (1 << 20) / 8) // BLOCK * BLOCK
        problem = os.path.join(folder, f"order-{size}.py")
        with open(problem, "w", encoding="utf-8") as f:
            f.write(PROBLEM.format(elements=elements))
        for order, words in ORDERS.items():
            name = f"{size} {order}"
            known[name] = size, order
            lines.append({"id": name, "problem": os.path.abspath(problem),
                          "source": KERNEL.format(order=words)})
    return lines, known


def judge(args, folder, lines):
    path, out = os.path.join(folder, "order.jsonl"), os.path.join(folder, "order-out.jsonl")
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(json.dumps(line) + "\n" for line in lines)
    if os.path.exists(out):
        os.remove(out)
    subprocess.run([args.kgym, "eval", "--batch", path, "--out", out, "--device", args.device,
                    "--jobs", str(args.jobs), "--no-stage-profile"],
                   timeout=args.seconds, check=False, stdout=subprocess.DEVNULL)
    with open(out, encoding="utf-8") as f:
        return {r["batch_id"]: r for r in map(json.loads, f)}


def differ(a, b):
    """Speed-ups whose intervals have nothing in common, and that are more than 2 % apart."""
    apart = a["lo"] > b["hi"] or b["lo"] > a["hi"]
    return apart and abs(a["ratio"] / b["ratio"] - 1) > 0.02


def words(record):
    s = record["speedup"]
    return f"{s['ratio']:.3f} [{s['lo']:.3f}, {s['hi']:.3f}], {s['pairs']} pairs"


def untimed(record):
    if record is None:
        return "no record"
    if record["error"]:
        return "error: " + record["error"]["message"]
    return f"{record['verdict']}: {record['message']}; {record['timing']['why']}"


def main():
    parser = gpu_table.arguments(__doc__, 300)
    parser.add_argument("--l2", type=float, default=50, help="of the device, in MiB (H100: 50)")
    args = parser.parse_args()
    lines, known = batch(args.out, args.l2)
    records, table = judge(args, args.out, lines), gpu_table.Table()
    for size in SIZES:
        speeds = {}
        for name, (of, order) in known.items():
            if of != size:
                continue
            record = records.get(name)
            timed = record is not None and record["verdict"] == "ok" and record["speedup"]
            found = [] if timed else [untimed(record)]
            if timed:
                speeds[order] = record["speedup"]
                found += [f"unlike {other}" for other, s in speeds.items()
                          if differ(record["speedup"], s)]
            ns = sum(s["ns"] or 0 for s in record["stages"]) if record else 0
            table.tell(f"{size} of the cache, {order}", "", ns / 1e9, found,
                       words(record) if timed else "")
    return table.unlike > 0


if __name__ == "__main__":
    sys.exit(main())
