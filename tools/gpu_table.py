"""What the scripts that look at a service or a trial on a GPU share: their arguments, and the table
that they print."""

import argparse


def arguments(usage, seconds):
    """A parser with KGYM, OUT, and the device, jobs and seconds that all of them take."""
    parser = argparse.ArgumentParser(usage=usage)
    parser.add_argument("kgym")
    parser.add_argument("out")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=seconds)
    return parser


class Table:
    """Counts its rows, and those that are not as they should be."""

    def __init__(self):
        self.rows, self.unlike, self.skipped = 0, 0, 0

    def tell(self, name, tests, seconds, found, words):
        """A line of the table. found: what is unlike, empty where all is as it should be."""
        self.rows += 1
        self.unlike += bool(found)
        word = "UNLIKE" if found else "ok"
        print(f"{name:28} {tests:10} {word:7} {seconds:6.1f} s  {words}", flush=True)
        for line in found:
            print(f"    {line}", flush=True)

    def skip(self, name, tests):
        self.skipped += 1
        print(f"{name:28} {tests:10} skipped: it needs a GPU", flush=True)
