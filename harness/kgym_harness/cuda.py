"""The place of a runner's tensors on a GPU. IN and OUT are the judge's allocations, imported into
the context that PyTorch uses (src/probe/probe_cuda.h).

Calls run on streams of their own, one after the other, and each is in order with the default
stream, as the streams of cudaStreamCreate are. PyTorch allocates a call's memory from OUT's upper
half where it can, so that answers need no copy. The lower half is for answers that are copied.
Where memory is short OUT is not divided, and has room for one answer.
"""

import contextlib
import ctypes as c
import os

import torch

from . import layout, tensors, wire

MUCH = 512 << 20  # bytes that PyTorch keeps
OUT_PARTS = 64  # KG_OUT_PARTS of src/probe/probe_cuda.h
SEGMENT = 2 << 20  # PyTorch allocates blocks of up to half of it in such segments
STREAMS = 4
LATE_CYCLES = 2_000_000  # about a millisecond
LATE_ELEMENTS = 1 << 20
LATE_VALUE = 17.0
SLEEP = torch.cuda._sleep  # as it is before any code of a candidate
APART = 8  # of streams that are made at once, seven neighbours behave alike


class Map(c.Structure):
    _fields_ = [("input", c.c_uint64), ("output", c.c_uint64),
                ("in_bytes", c.c_uint64), ("out_bytes", c.c_uint64)]


def prepare(connections):
    """Does the part of the set-up that needs no context, a third of all. It hardly disturbs
    others that are timed."""
    if connections > 0:  # read when the context is made; connections take most of that time
        os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = str(connections)
    torch.cuda.init()


class Cuda:
    aside = False  # the pool was given back for a call in double

    def __init__(self, probe, block, device, made):
        self.device, self.lib = device, probe.lib
        self.lib.kg_probe_cuda_error.restype = c.c_char_p
        self.lib.kg_probe_cuda_null.argtypes = [c.c_void_p]
        self.lib.kg_probe_cuda_finish.argtypes = [c.c_void_p, c.c_uint32, c.c_int64]
        for held in (self.lib.kg_probe_cuda_gate, self.lib.kg_probe_cuda_post):
            held.argtypes = [c.c_void_p, c.c_void_p, c.c_uint32]
        self.lib.kg_out_range.argtypes = [c.c_uint64, c.c_uint64]
        self.lib.kg_out_shuffle.restype = c.c_uint32
        self.lib.kg_out_shuffle.argtypes = [c.c_void_p]
        self.lib.kg_out_used.argtypes = [c.c_void_p, c.c_void_p]
        torch.cuda.set_device(device)
        torch.empty(1, device=device)  # the context, as PyTorch makes it
        made()
        self._warm_context()
        self.nothing, self.leaves = torch.empty(0, device=device), (wire.Leaf * 1)()
        self.input, self.output = self._attach(block)
        for fd in (wire.FD_IN, wire.FD_OUT):
            os.close(fd)
        streams = [self._stream() for _ in range((STREAMS - 1) * APART + 1)]
        self.streams = streams[::APART]
        self.turn = 0
        torch.cuda.set_stream(self.streams[0])
        self.block, self.used, self.below = block, block.out_bytes, block.out_below
        self.pool, self.where, self.called, self.met = self._arena(), (), set(), set()
        self.first = None  # a pool of first calls on other streams than the first
        self.greedy = None  # a pool of calls that take more than the usual one
        self.fresh = True
        probe.look_with("kg_probe_cuda_wait")

    def _stream(self):
        """A stream that waits for the default stream, and that one for it. PyTorch's own do not:
        what a kernel that names no stream reads or writes would be in no order with PyTorch's
        operations, though it is in a plain program."""
        made = c.c_void_p()
        code = torch.cuda.cudart().cudaStreamCreate(c.addressof(made))
        if int(code) != 0:
            raise RuntimeError("a stream could not be made (%s)" % code)
        return torch.cuda.ExternalStream(made.value, self.device)

    def _warm_context(self):
        """Runs kernels that describe also runs (sort and count), once in every context. Work
        that a context has done makes each later call longer, by 1.8 us for a single matrix
        product. A reference has described its task and a candidate has not, so the candidate
        looked faster by that time."""
        torch.unique(torch.ones(1000, device=self.device))

    def _attach(self, block):
        attach, got = self.lib.kg_probe_cuda_attach, Map()
        attach.argtypes = [c.c_int, c.c_int, c.c_uint64, c.c_int, c.c_uint64, c.POINTER(Map)]
        if attach(self.device.index or 0, wire.FD_IN, block.in_bytes, wire.FD_OUT,
                  block.out_bytes, c.byref(got)) != 0:
            raise RuntimeError(self.lib.kg_probe_cuda_error().decode("utf-8", "replace"))
        return (tensors.Region(got.input, got.in_bytes, self.device),
                tensors.Region(got.output, got.out_bytes, self.device))

    def _arena(self):
        """A pool over the upper half of OUT; None where this torch has no pools. The allocator
        is passed by the addresses of its functions, because its file cannot be seen from here."""
        make = getattr(torch._C, "_cuda_customAllocator", None)
        if make is None or not hasattr(torch.cuda, "MemPool"):
            return None
        self._divide()
        # the pool does not keep it alive
        self.allocator = make(*(c.cast(getattr(self.lib, name), c.c_void_p).value
                                for name in ("kg_out_alloc", "kg_out_free")))
        self.parts = (c.c_uint64 * OUT_PARTS)()
        self.moves = self._gives_back()
        return torch.cuda.MemPool(self.allocator)

    def _divide(self):
        """Divides the part of OUT in use: copies below, allocations of calls above. Where memory
        is short the judge wants it whole: copies go beside what lies there."""
        self.below = self.block.out_below
        self.lib.kg_out_range(self.below, self.used)
        self.output.copies, self.output.whole = self._lowest(), self.below == 0

    def _lowest(self):
        """Where copies must end while calls allocate in OUT."""
        return self.below or self.used

    def _put_aside(self):
        """Before a call in double: its answer is copied, and may take all of OUT where nothing
        else lies there."""
        if self.pool is not None and self.moves:
            self.pool, self.aside = None, True
            self.output.copies = self.used if self._taken()[0] == 0 else self._lowest()

    def _take_back(self):
        if self.aside:
            self.pool, self.aside = torch.cuda.MemPool(self.allocator), False
            self.output.copies = self._lowest()

    def spare(self):
        """Gives memory back that PyTorch keeps for later calls, where it is more than the judge
        allows. What a call takes may be kept where there is room: taking it from the device again
        takes 0.1 ms for each block, and a module whose state changes is called as if for the first
        time whenever it is timed. What the pool over OUT has taken for the next call is not such
        memory: a reference, whose calls have used that pool, gave back all else at each call. The
        usual call needs its memory more often than others need theirs."""
        most = max(MUCH, self.block.may_keep)
        if self._kept() > most:
            self.greedy = self.first = None
        if self._kept() > most:
            torch.cuda.empty_cache()

    def _kept(self):
        """Bytes that PyTorch keeps for later calls."""
        kept = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        return kept - sum(self._taken())

    def _taken(self):
        """Bytes that PyTorch has from OUT, and through the same allocator from elsewhere."""
        used = (c.c_uint64(), c.c_uint64())
        self.lib.kg_out_used(c.byref(used[0]), c.byref(used[1]))
        return used[0].value, used[1].value

    def _gives_back(self):
        """True if a deleted pool gives its memory back."""
        pool = torch.cuda.MemPool(self.allocator)
        with torch.cuda.use_mem_pool(pool):
            torch.empty(1, device=self.device)
        del pool
        return self._taken() == (0, 0)

    def _use(self, size):
        """Changes the part of OUT in use, as the judge says; before a module is called."""
        self.used = self.output.size = self.output.copies = size
        if self.pool is None:
            return
        self.pool = None
        if self._taken()[0] != 0:
            raise RuntimeError("memory of a call is in use before there was one")
        self._divide()
        self.pool = torch.cuda.MemPool(self.allocator)

    def _on(self, turn):
        """Makes another stream current, after earlier work has ended."""
        if turn != self.turn:
            self.settle()
            self.turn = turn
            torch.cuda.set_stream(self.streams[turn])

    def rest(self):
        """Prepares the next call. It will allocate elsewhere, because the distance of two
        tensors in memory changes a kernel's time by half a percent. The blocks are taken now,
        so that the call finds them in the pool. It will also use another stream, because a
        launch takes 0.15 us longer on some streams, for their whole life. The largest block
        comes first: OUT has little more room than one answer, if that is large."""
        self._take_back()
        if self.pool is None or not self.moves:
            return
        try:
            self.pool = None
            if not self.block.may_keep:
                self.first = None
            self._on((self.turn + 1) % len(self.streams))
            n = self.lib.kg_out_shuffle(self.parts)
            self.pool = torch.cuda.MemPool(self.allocator)
            with torch.cuda.use_mem_pool(self.pool):
                held = [torch.empty(part, dtype=torch.uint8, device=self.device)
                        for size in sorted(self.parts[:n], reverse=True)
                        for part in ([size] if size > SEGMENT else [SEGMENT // 2] * 2)]
            del held
        except Exception:  # a candidate may have changed PyTorch
            self.moves = False

    def renewed(self):
        """Called after a change of module, parameters or inputs. OUT is filled with poison
        before each call, so nothing that a module keeps may lie there. Memory of the first call
        on inputs at an address comes from elsewhere, because a module may keep it. The same
        holds for memory that is made once per stream, such as cuBLAS's workspace."""
        self.called.clear()
        self.met.clear()
        self._on(0)
        if (self.used, self.below) != (self.block.out_bytes, self.block.out_below):
            self._use(self.block.out_bytes)

    def bound(self, where):
        """Tells where the inputs lie: offset, dtype, shape and strides of each."""
        self.where = where

    def settle_in(self):
        """Treats the module as called on these inputs, on every stream."""
        self.called.add(self.where)
        self.met.update(range(len(self.streams)))

    def around_call(self, wide, usual=True):
        """A context around a call: where its memory comes from. First calls on stream 0 use
        PyTorch's own memory, which may be kept. First calls on other streams have a pool of their
        own. Calls that take more than the usual one (in double, or rounded otherwise) have another
        where PyTorch keeps what the usual one takes. Both pools live from call to call there: to
        take memory from the device, or to give it back, is slow while others make contexts."""
        self.fresh = True
        apart = not usual and self.pool is not None and self.moves and self.block.may_keep > 0
        if wide:
            self._put_aside()
        if apart:
            self._on(0)
            self.greedy = torch.cuda.MemPool() if self.greedy is None else self.greedy
            return torch.cuda.use_mem_pool(self.greedy)
        if self.pool is None or wide:
            self._on(0)
            return contextlib.nullcontext()
        first = self.where not in self.called or self.turn not in self.met
        self.fresh = first
        self.called.add(self.where)
        self.met.add(self.turn)
        if first and self.turn == 0:
            return contextlib.nullcontext()
        if first and self.first is None:
            self.first = torch.cuda.MemPool()
        return torch.cuda.use_mem_pool(self.first if first else self.pool)

    def room(self):
        """As in host.Host. None: PyTorch has memory of OUT."""
        return self.output.filling if self._taken()[0] == 0 else None

    @contextlib.contextmanager
    def as_caller(self):
        """A context around a call and the copy of its answer, as in a plain PyTorch program: on
        the default stream, with PyTorch's own memory. Kernels that name no stream run there."""
        self._on(0)
        self.settle()
        self.the_callers()
        try:
            yield
        finally:
            torch.cuda.set_stream(self.streams[0])

    def returned(self):
        """A call has returned. Memory of a first call is copied, and it is not timed: whatever
        streams it worked on are waited for, so that the copy is of the whole answer."""
        if self.fresh:
            self.settle()
            torch.cuda.set_stream(self.streams[self.turn])

    def the_callers(self):
        """Makes the caller's stream current, whatever a call has left."""
        torch.cuda.set_stream(torch.cuda.default_stream(self.device))

    def come_late(self, inputs):
        """The inputs come a millisecond later on the caller's stream: who does not wait for that
        stream reads other numbers. The first elements of each: there is not the room for more."""
        parts = [layout.memory(t)[:LATE_ELEMENTS] for t in inputs if t.is_floating_point()]
        kept = [part.clone() for part in parts]
        for part in parts:
            part.fill_(LATE_VALUE)
        SLEEP(LATE_CYCLES)
        for part, values in zip(parts, kept):
            part.copy_(values)

    def plain(self):
        """From now on calls run as in a plain PyTorch program: on the default stream, which
        kernels use that name no stream, and from PyTorch's own memory."""
        self.streams, self.turn = [torch.cuda.default_stream(self.device)], 0
        torch.cuda.set_stream(self.streams[0])
        self.pool = None

    def times(self, module, inputs, warmups, discard, trials):
        """Nanoseconds of each call between two events on the current stream, with the L2 cache
        flushed before, as KernelBench's time_execution_with_cuda_event does; and the last
        answer."""
        for _ in range(warmups):
            module(*inputs)
            torch.cuda.synchronize(self.device)
        torch.cuda.empty_cache()
        found = []
        for _ in range(discard + trials):
            torch.cuda.synchronize(self.device)
            begin = torch.cuda.Event(enable_timing=True)
            end = torch.cuda.Event(enable_timing=True)
            flush = torch.empty((32, 1024, 1024), dtype=torch.int64, device=self.device)
            flush.fill_(42)
            del flush
            begin.record()
            last = module(*inputs)
            end.record()
            torch.cuda.synchronize(self.device)
            found.append(round(begin.elapsed_time(end) * 1e6))
        return found[discard:], last

    def hold_back(self, base, number):
        """As in host.Host: on the stream of the call. A call that is not timed waits for its own
        end, so nothing can be held back there."""
        stream = self.streams[self.turn].cuda_stream
        return not self.fresh and self.lib.kg_probe_cuda_gate(base, stream, number) == 0

    def post_behind(self, base, number):
        """After hold_back(): makes the device post the answer, which must stand in the control
        block, when what the call has launched is done. Where it cannot, finish() does."""
        self.lib.kg_probe_cuda_post(base, self.streams[self.turn].cuda_stream, number)

    def rehearse(self):
        """Runs an operator on no elements, which launches nothing. It takes the same way
        through PyTorch and this harness as an answer, and that way takes 20 us less, and varies
        less, when it was taken just before. A candidate may have changed PyTorch so that this
        fails; then it is left out."""
        try:
            _, named = tensors.flatten(torch.sin(self.nothing))
            tensors.put(self.output, self.leaves, named)
        except Exception:
            pass

    def finish(self, base, number, begun):
        """As in host.Host, done in C."""
        if self.lib.kg_probe_cuda_finish(base, number, begun) == 0:
            return True
        torch.cuda.synchronize(self.device)  # says what is wrong
        return False

    def settle(self):
        if self.lib.kg_probe_cuda_sync() != 0:
            torch.cuda.synchronize(self.device)  # says what is wrong

    def null(self):
        if self.lib.kg_probe_cuda_null(self.streams[self.turn].cuda_stream) != 0:
            raise RuntimeError(self.lib.kg_probe_cuda_error().decode("utf-8", "replace"))

    def peak_bytes(self):
        """Takes 0.2 ms, so it is not called while a call is timed."""
        return torch.cuda.max_memory_allocated(self.device)
