# fixture
# entry: A3
# problem: gelu_tanh
# what: a subclass of the reference that should share its namespace
# expect: compile_error/load
# gpu: no
class ModelNew(Model):  # noqa: F821
    pass
