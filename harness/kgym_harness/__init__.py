"""What runs inside kgym's Python processes: the zygote, and the runners forked from it.

Nothing here decides anything. A runner answers commands in a block of shared memory, and all that
it says is a claim. src/gym/tensor/tensor_wire.h is the border; docs/protocol.md tells the sequence.
"""
