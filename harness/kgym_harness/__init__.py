"""The code of kgym's Python processes: the zygote, and the runners forked from it.

Nothing here decides anything. A runner answers commands in a block of shared memory, and
everything that it says is a claim. src/gym/tensor/tensor_wire.h defines the commands;
docs/protocol.md describes their sequence.
"""
