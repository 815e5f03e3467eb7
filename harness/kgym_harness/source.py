"""A source file: its text, its constants, and the module that results from executing it."""

import ast
import sys
import types


class BadSyntax(Exception):
    """line and column count from 1, the column in characters; 0: not known."""

    def __init__(self, message, line, column=0):
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


class NoEntry(Exception):
    pass


def _literal(node):
    """The int value of an expression without names, or None."""
    if any(not isinstance(n, (ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop))
           for n in ast.walk(node)):
        return None
    size = sum(1 for _ in ast.walk(node))
    if size > 32:
        return None
    try:
        code = compile(ast.Expression(node), "<constant>", "eval")
        value = eval(code, {"__builtins__": {}})
    except Exception:
        return None
    return value if type(value) is int else None


def _assignments(tree):
    """(name, statement, place) of every top-level assignment of one expression to one name."""
    for statement in tree.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            if statement.value is not None:
                yield statement.target.id, statement, None
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name):
                yield target.id, statement, None
            elif isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple) and \
                    len(target.elts) == len(statement.value.elts):
                for i, name in enumerate(target.elts):
                    if isinstance(name, ast.Name):
                        yield name.id, statement, i


def _value(statement, place):
    return statement.value if place is None else statement.value.elts[place]


class Source:
    def __init__(self, path, name):
        self.path, self.name = path, name
        with open(path, "rb") as f:
            text = f.read()
        try:
            self.tree = ast.parse(text, path)
            compile(self.tree, path, "exec", dont_inherit=True)
        except SyntaxError as error:
            raise BadSyntax(str(error.msg), error.lineno or 0, max(error.offset or 0, 0))
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            raise BadSyntax("%s: %s" % (type(error).__name__, error), 0)
        self.module = None

    def constants(self):
        """Module-level names that are literal integers: {name: value}."""
        found = {}
        for name, statement, place in _assignments(self.tree):
            value = _literal(_value(statement, place))
            if value is not None:
                found[name] = value
            else:
                found.pop(name, None)
        return found

    def run(self, consts=None):
        """Executes the file anew, with some constants set to other values."""
        with open(self.path, "rb") as f:
            tree = ast.parse(f.read(), self.path)
        known = self.constants()
        unknown = sorted(set(consts or {}) - set(known))
        if unknown:
            raise ValueError("no module-level integer constant %s" % ", ".join(unknown))
        for name, statement, place in list(_assignments(tree)):
            if name not in (consts or {}):
                continue
            new = ast.copy_location(ast.Constant(int(consts[name])), _value(statement, place))
            if place is None:
                statement.value = new
            else:
                statement.value.elts[place] = new
        code = compile(tree, self.path, "exec", dont_inherit=True)
        module = types.ModuleType(self.name)
        module.__file__ = self.path
        sys.modules[self.name] = module
        self.module = module
        exec(code, module.__dict__)

    def entry(self, name):
        found = vars(self.module).get(name)
        if not callable(found):
            raise NoEntry("the module does not define %s" % name)
        return found
