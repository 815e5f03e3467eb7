"""libkgym_probe through ctypes: the steps of the sandbox, mappings, futexes and, on a GPU,
imports."""

import ctypes as c
import os


class Probe:
    """The library's functions. Calls release the interpreter's lock. A failed step of the
    sandbox does not return."""

    def __init__(self, path):
        self.path = path
        self.lib = lib = c.CDLL(path, use_errno=True)

        def declare(name, result, *arguments):
            function = getattr(lib, name)
            function.restype = result
            function.argtypes = arguments
            return function

        self._leave = declare("kg_probe_leave", c.c_int, c.c_int, c.c_int)
        self._born = declare("kg_probe_born", c.c_int, c.c_int, c.c_int)
        self._climb = declare("kg_probe_climb", c.c_int, c.c_int, c.c_int, c.POINTER(c.c_int),
                              c.c_int)
        self._map = declare("kg_probe_map", c.c_uint64, c.c_int, c.c_int, c.POINTER(c.c_uint64))
        self._catch = declare("kg_probe_catch_faults", c.c_int, c.c_void_p)
        self._wait = declare("kg_probe_wait", c.c_uint32, c.c_void_p, c.c_uint32)
        self._gate = self._wait
        self._post = declare("kg_probe_post", None, c.c_void_p, c.c_uint32)

    def leave(self, plan_fd, ctl_fd):
        """Enters new namespaces, in which children are forked."""
        self._check(self._leave(plan_fd, ctl_fd))

    def born(self, ctl_fd, pid):
        """Tells the broker the pid of its runner."""
        self._check(self._born(ctl_fd, pid))

    def climb(self, plan_fd, ctl_fd, fds):
        """Takes the steps of src/gym/sandbox; fds[i] becomes descriptor i, others are closed."""
        self._check(self._climb(plan_fd, ctl_fd, (c.c_int * len(fds))(*fds), len(fds)))

    def map(self, what, fd):
        """Maps region 0 ctrl, 1 IN (read-only), 2 OUT at its fixed address: (address, bytes)."""
        size = c.c_uint64(0)
        address = self._map(what, fd, c.byref(size))
        if address == 0:
            self._check(-c.get_errno())
        return address, size.value

    def catch_faults(self, wire):
        self._check(self._catch(wire))

    def look_with(self, name):
        """Makes look() use another function of the probe."""
        function = getattr(self.lib, name)
        function.restype, function.argtypes = self._wait.restype, self._wait.argtypes
        self._gate = function

    def wait(self, word, value):
        """Waits until the word at this address differs from value; returns the new value."""
        return self._wait(word, value)

    def look(self, word, value):
        """The same for an event that will come soon."""
        return self._gate(word, value)

    def post(self, word, value):
        """Stores a value and wakes all that wait."""
        self._post(word, value)

    @staticmethod
    def _check(rc):
        if rc < 0:
            raise OSError(-rc, os.strerror(-rc))
