"""A runner: maps its regions, reports READY, and answers command after command until it is
killed. From LOAD on nothing in this process can be relied on, so everything that it says is a
claim."""

import ctypes
import json
import os
import sys
import time

import torch

from . import (building, cuda, describe, explain, host, keeping, layout, module, profile, reads,
               tensors, wire)

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
CALL = wire.COMMANDS.index("call")
PREPARES = (CALL, wire.COMMANDS.index("null"))
BEFORE_INPUTS = tuple(map(wire.COMMANDS.index, ("load", "build")))


class Runner:
    def __init__(self, request, probe):
        self.probe = probe
        self.path = request["source"]
        self.device = torch.device(request.get("device", "cpu"))
        address, _ = probe.map(0, wire.FD_CTRL)
        self.base = address
        self.wire = wire.Wire.from_address(address)
        probe.catch_faults(address)
        if self.device.type == "cuda":
            cuda.prepare(request.get("connections", 0))
        probe.wait(self.base + wire.Wire.building.offset, wire.WAITS)
        self.sharing = building.DeviceSharing(self.probe, self.wire, self.base)
        self.place = self._open_place()
        self.input, self.output = self.place.input, self.place.output
        self.subject, self.watch, self.last = None, profile.Idle(), None
        self.given = []  # parts of the state, until the last one comes
        self.described = None  # the description that is being read, page by page
        self.ahead = False  # the device holds back what the current command launches
        self.commands = {i: getattr(self, "do_" + name)
                         for i, name in enumerate(wire.COMMANDS) if name != "none"}

    def _open_place(self):
        if self.device.type == "cuda":
            self.sharing.wrap_triton()
            return cuda.Cuda(self.probe, self.wire, self.device, self.sharing.next_turn)
        return host.Host(self.probe, self.wire, self.device)

    # Commands. Each returns a reply (a dict or None); tensors go through self._put. Commands of
    # PREPARES begin when they are announced, all others when they are released.

    def do_load(self, request):
        self.subject = None
        if "profile" in request:
            self._watch(request["profile"])
        precision = request.get("precision", "fp32")
        compat, tf32 = DTYPES[precision] if request.get("compat") else None, precision == "tf32"
        if compat:
            self.place.plain()
        else:
            torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = tf32
        subject = module.Subject(self.path, request["entry"], request.get("role", "candidate"),
                                 self.device, compat)
        subject.tf32 = tf32 and not compat
        subject.row = bool(request.get("row"))
        if subject.role == "reference":
            subject.on_host = self.sharing.without_device
        subject.execute(request.get("consts"))
        self.subject = subject
        return {"constants": subject.source.constants()}

    def do_describe(self, request):
        subject = self._loaded()
        if "edits" in request:
            return self._needed(subject, request)
        if request.get("consts"):
            subject.execute(request["consts"])
        if not request.get("from"):
            self.described = describe.describe(subject, request, self.wire.seed)
            self.place.spare()
        return describe.page(self.described, request.get("from", 0))

    def _needed(self, subject, request):
        """How much of its inputs the answer needs, of the module as it is built and loaded."""
        structure = {int(i): kinds for i, kinds in request.get("structure", {}).items()}
        found = reads.needed(subject, request["edits"], self.wire.seed, request["seconds"],
                             structure)
        self.place.settle()
        self.place.spare()
        return {"reads": found}

    def do_build(self, request):
        subject = self._loaded()
        if request.get("consts"):
            subject.execute(request["consts"])
        subject.build(request.get("init"), request.get("kwargs"), self.wire.seed)
        self.place.renewed()
        if request.get("inputs") is not None:
            subject.template = request["inputs"]
        subject.strides = request.get("strides", subject.strides)
        if "fast" in request:
            subject.fast = str(self.device) if request["fast"] else None
        subject.single, subject.slices = bool(request.get("single")), request.get("slices", 0)
        subject.carries = bool(request.get("carries"))
        subject.need, subject.writes = request.get("state", ""), request.get("writes", ())
        subject.changes = request.get("changes", ())
        subject.terms = request.get("terms", subject.terms)
        subject.keeps = {int(i): kinds for i, kinds in request.get("keeps", {}).items()}
        buffers = subject.buffers()
        reply = {"state": [{"name": name, "dtype": str(t.dtype).split(".")[-1],
                           "shape": list(t.shape), "buffer": name in buffers}
                         for name, t in subject.state()[:describe.PAGE]]}
        if "trials" in request:
            reply["seeds"] = module.trial_seeds(self.wire.seed, request["trials"])
        return reply

    def do_state(self, request):
        more = self.wire.flags & wire.MORE
        if self._part() == 0:
            self.given = []
        for leaf in self.wire.in_[:self.wire.nrequest]:
            t = self.input.of_leaf(leaf)  # the next part lies there, too
            self.given.append((leaf.name.decode("utf-8", "replace"), t.clone() if more else t))
        if more:
            return None
        given, self.given = self.given, []
        how = self._loaded().load(given)
        self.place.renewed()
        self.place.settle()
        return {"how": how}

    def _part(self):
        return self.wire.flags >> wire.PART_AT & wire.PART_MOST

    def do_bind(self, request):
        self._renew()
        self._bind()

    def _renew(self):
        self.place.renewed()
        self.wire.peak_bytes = self.place.peak_bytes()  # of the calls so far

    def _bind(self):
        leaves = self.wire.in_[:self.wire.nrequest]
        inputs = [self.input.of_leaf(leaf) for leaf in leaves]
        if self.subject is not None:
            self.subject.bind(inputs)
        self.place.bound(tuple((leaf.offset, leaf.dtype, tuple(leaf.shape[:leaf.rank]),
                                tuple(leaf.stride[:leaf.rank])) for leaf in leaves))

    def do_call(self, request):
        subject, w = self._loaded(), self.wire
        if w.flags & wire.ANEW:
            self._renew()
        if w.flags & wire.BIND:
            self._bind()
        if w.flags & wire.ORDER:
            self._call_in_order(subject)
            return None
        wide, near = bool(w.flags & wire.WIDE), w.flags & wire.NEARS
        rounding = w.flags >> wire.ROUNDING & 255
        module.seed_all(w.seed, self.device)
        with self.place.around_call(wide, not (wide or near or rounding)), self.watch.window():
            begin = self._begin()
            subject.room = self.place.room() if wide else None
            answer = subject.call(wide, near, w.seed, rounding)
            self.place.returned()
        self._put(answer)
        if self.place.fresh:  # it is not timed
            del answer
            self.place.settle()
            self.place.spare()
        self.begun = begin
        if wide:
            return {"narrowed": True} if subject.narrowed else None
        return {"chose": subject.chose} if near or rounding else None

    def _call_in_order(self, subject):
        """The answer is copied as its caller would use it: on the caller's stream, when the call
        has returned and nobody has waited for the device."""
        w = self.wire
        module.seed_all(w.seed, self.device)
        with self.place.as_caller(), self.watch.window():
            begin = self._begin()
            if w.flags & wire.LATE:
                self.place.come_late(subject.bound)
            answer = subject.call(False)
            self.place.the_callers()
            self._put(answer)
        self.begun = begin

    def do_draw(self, request):
        subject, w = self._loaded(), self.wire
        law = keeping.of_flags(w.flags)
        drawn = subject.draw(w.seed)
        another = law and keeping.compares(subject, *law[:2])
        again = subject.draw(w.seed ^ 1) if another else None
        drawn = subject.move(drawn)
        if law:
            drawn = keeping.changed(subject, drawn, again, w.seed, *law)
        moved = [(path, layout.memory(t)) for path, t in drawn]
        w.nreply = tensors.put(self.output, w.out, moved)
        del drawn, again, moved
        self.place.settle()
        self.place.spare()

    def do_snapshot(self, request):
        w, subject = self.wire, self._loaded()
        left, inputs = bool(w.flags & wire.LEFT), bool(w.flags & wire.INPUTS)
        named = subject.written(not left) if inputs else subject.snapshot(left)
        begin = self._part() * wire.LEAVES
        end = begin + wire.LEAVES if w.flags & wire.MORE else None  # all else is the last part
        w.nreply = tensors.put(self.output, w.out, named[begin:end])
        self.place.settle()

    def do_null(self, request):
        """Does everything that a call does, except the call. Nothing needs to be loaded."""
        if self.wire.flags & wire.BIND:
            self._bind()
        module.seed_all(self.wire.seed, self.device)
        with self.place.around_call(False), self.watch.window():
            begin = self._begin()
            self.place.null()
        self.wire.nreply = tensors.put(self.output, self.wire.out, [])
        self.begun = begin

    def do_time(self, request):
        """Times calls as KernelBench does, in this process. The times are claims."""
        subject = self._loaded()
        inputs = subject.own_inputs()
        with torch.enable_grad():
            ns, last = self.place.times(subject.module, inputs, request["warmups"],
                                        request["discard"], request["trials"])
        self.last = last if subject.role == "candidate" else None
        return {"ns": ns}

    def do_timed(self, request):
        """The answer of the last call of TIME."""
        self._put(self.last)
        self.place.settle()

    def do_profile(self, request):
        """suppress: own kernels of these names do nothing from now on. take: the launches so
        far. interpreted: the number of kernels that Triton's interpreter has run, instead.
        settled: the next call allocates in OUT, which holds poison, although it is the
        first."""
        if "suppress" in request:
            self.watch.suppress(request["suppress"])
        if request.get("interpreted"):
            interpreter = sys.modules.get("triton.runtime.interpreter")
            return {"launches": getattr(interpreter, "kgym_launches", 0)}
        if request.get("settled"):
            self.place.settle_in()
        return self.watch.take() if request.get("take") else None

    def _watch(self, request):
        """Starts profiling, before any code of the candidate runs. A failure is reported when
        the table is asked for."""
        try:
            self.watch = profile.Watch(self.probe, self.device)
            self.watch.wrap()
            self.watch.suppress(request["suppress"])
        except Exception as error:
            self.watch = profile.Blind(explain.plain(error, 300))

    def do_exit(self, request):
        self._finish(wire.OK, None)
        os._exit(0)

    def _put(self, answer):
        structure, named = tensors.flatten(answer)
        self.wire.nreply = tensors.put(self.output, self.wire.out, named, self.subject.bound)
        self.wire.structure = structure.encode()

    def _loaded(self):
        if self.subject is None:
            raise RuntimeError("nothing is loaded")
        return self.subject

    # The loop

    def serve(self):
        w, probe = self.wire, self.probe
        announced = self.base + wire.Wire.announced.offset
        if w.magic not in (0, wire.MAGIC):
            raise RuntimeError("the control block is of another version")
        probe.post(self.base + wire.Wire.state.offset, wire.READY)
        self.seen = 0
        while True:
            self.number = probe.wait(announced, self.seen)
            w.nreply = w.reply_bytes = 0
            w.call_ns, self.begun, self.ahead = 0, None, False
            w.structure = b""
            called = w.command == CALL
            self._finish(*self._run())
            if called or self.ahead:  # an empty call goes round the streams, too
                self.place.rest()

    def _await_release(self):
        if self.seen != self.number:
            self.place.rehearse()
            self.wire.prepared = self.number
            self.seen = self.probe.look(self.base + wire.Wire.go.offset, self.seen)

    def _begin(self):
        """The start of the timed part: the inputs are in IN from now on. None: it starts later,
        with the release, and the device works from then on."""
        if self.wire.flags & wire.AHEAD and self.place.hold_back(self.base, self.number):
            self.ahead = True
            return None
        self._await_release()
        begin = time.perf_counter_ns()
        if self.wire.flags & wire.DRAWS:
            module.seed_all(self.wire.seed, self.device)
        return begin

    def _run(self):
        """Runs the current command; returns (status, reply)."""
        w = self.wire
        if w.command not in PREPARES:
            self._await_release()
        try:
            size = min(w.request_bytes, wire.TEXT)
            text = ctypes.string_at(self.base + wire.Wire.request.offset, size)
            request = json.loads(text) if text.strip(b"\0") else {}
            with torch.no_grad():
                return wire.OK, self.commands[w.command](request)
        except BaseException as error:
            return self._explain(error)

    def _explain(self, error):
        """(status, reply) for an exception that the current command raised."""
        seen = self.wire.command not in BEFORE_INPUTS
        return explain.explain(error, self.path, self.device.type == "cpu", seen)

    def _finish(self, status, reply):
        """Writes and posts the answer. Kernels of a call may still run, so everything else is
        done meanwhile. Where the device posts it, posting it again changes nothing."""
        if not self.ahead:
            self._await_release()
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass
        self._write(status, reply)
        if self.ahead:
            if status == wire.OK:
                self.place.post_behind(self.base, self.number)
            self._await_release()
            self.begun = time.perf_counter_ns()
        if self.begun is not None:
            try:
                if self.place.finish(self.base, self.seen, self.begun):
                    return
                self.wire.call_ns = time.perf_counter_ns() - self.begun
            except BaseException as error:
                self._write(*self._explain(error))
        self.probe.post(self.base + wire.Wire.done.offset, self.seen)

    def _write(self, status, reply):
        w = self.wire
        text = b"" if reply is None else json.dumps(reply).encode()
        if len(text) > wire.TEXT:
            status, text = wire.TOO_LARGE, b'{"message": "the reply is too long"}'
        ctypes.memmove(self.base + wire.Wire.reply.offset, text, len(text))
        w.reply_bytes = len(text)
        w.status = status
        w.echo[0], w.echo[1] = w.nonce[0], w.nonce[1]


def main(request, probe):
    torch.set_num_threads(1)
    Runner(request, probe).serve()
