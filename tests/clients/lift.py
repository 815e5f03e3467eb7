"""Code of another project's file, run without what that file imports. A trainer's packages take
gigabytes; the few lines that call a reward function, or send a request, need none of it."""

import ast
import contextlib
import importlib.util
import os
import sys
import types


def lift(path, names, scope):
    """Executes these functions and classes of a file in scope, which has what they use. A name may
    be Class.method: that method alone, as a function. Decorators are left out. KeyError: the file
    has no such name."""
    with open(path, encoding="utf-8") as f:
        tree = ast.parse(f.read(), path)
    for name in names:
        body = tree.body
        for part in name.split("."):
            found = [node for node in body if getattr(node, "name", None) == part]
            if not found:
                raise KeyError(f"{path} has no {name}")
            node, body = found[0], found[0].body
        node.decorator_list = []
        # Annotations may name what is not there.
        future = ast.ImportFrom("__future__", [ast.alias("annotations")], 0)
        module = ast.fix_missing_locations(ast.Module([future, node], []))
        exec(compile(module, path, "exec"), scope)
    return scope


@contextlib.contextmanager
def nothing(*_args, **_kwargs):
    yield


def openenv_client():
    """GenericEnvClient of openenv-core. The package imports its server (gradio, fastmcp) before its
    client, which does not need it; so the package's own __init__ is passed by."""
    folder = importlib.util.find_spec("openenv").submodule_search_locations[0]
    core = types.ModuleType("openenv.core")
    core.__path__ = [os.path.join(folder, "core")]
    sys.modules["openenv.core"] = core
    from openenv.core.generic_client import GenericEnvClient
    return GenericEnvClient
