# fixture
# entry: E7
# problem: conv2d
# what: leaves with status 0 while it is imported
# expect: crash/exit compile_error/load
# gpu: no
import os

os._exit(0)
