/* Parts of the harness on their own, in the Python that has torch: the project's environment, or
 * KGYM_PYTHON. Skipped where it has none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"

#define MOST 16384

static const char before[] = "import json\n"
                             "try:\n    import torch\n"
                             "except ImportError:\n    print('null')\n    raise SystemExit\n"
                             "from kgym_harness import describe, module, tensors, wire\n";

/* What a program prints, as JSON. */
static json_t *python_says(const char *program)
{
    static char own[PATH_MAX], command[3 * PATH_MAX], text[MOST];
    char folder[] = "/tmp/kgym-harness-XXXXXX", path[64];
    const char *tree = getenv("KGYM_TREE"), *python = getenv("KGYM_PYTHON");
    struct kg_err err = KG_ERR_INIT;
    json_t *j = NULL;
    tree = tree ? tree : ".";
    snprintf(own, sizeof own, "%s/.venv/bin/python", tree);
    python = python ? python : access(own, X_OK) == 0 ? own : "python3";
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/program.py", folder);
    int n = snprintf(text, sizeof text, "%s%s", before, program);
    assert_true(n > 0 && n < MOST);
    assert_int_equal(kg_file_write_atomic(path, text, (size_t)n, &err), KG_OK);
    snprintf(command, sizeof command,
             "cd %s && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='%s/harness' '%s' program.py 2>&1",
             folder, tree, python);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    size_t got = fread(text, 1, sizeof text, f);
    int status = pclose(f);
    assert_int_equal(kg_file_remove_tree(folder, &err), KG_OK);
    bool none = WIFEXITED(status) && WEXITSTATUS(status) == 127;
    if (none || (got >= 4 && memcmp(text, "null", 4) == 0)) {
        printf("skip: no Python with torch\n");
        skip();
    }
    if (kg_json_parse(text, got, "python", &j, &err) != KG_OK) {
        fail_msg("%s\n%.*s", err.message, (int)got, text);
    }
    return j;
}

static void expect(const char *program, const char *want)
{
    struct kg_err err = KG_ERR_INIT;
    json_t *told = python_says(program), *wanted = NULL;
    assert_int_equal(kg_json_parse(want, strlen(want), "test", &wanted, &err), KG_OK);
    if (!json_equal(told, wanted)) {
        fail_msg("%s, not %s", json_dumps(told, JSON_COMPACT), want);
    }
    json_decref(told);
    json_decref(wanted);
}

/* What lies in OUT already stays there, the same tensor twice or a view of another, too; but all
 * are taken one by one, so together they are no larger than OUT. */
static void answers_that_share_memory(void **state)
{
    (void)state;
    expect("import ctypes\n"
           "memory = (ctypes.c_char * (1 << 20))()\n"
           "out = tensors.Region(ctypes.addressof(memory), 1 << 20, torch.device('cpu'))\n"
           "y = out.view(torch.float32, (100, 1024), 1 << 19, 400 << 10)\n"
           "told = []\n"
           "for parts in ([y, y], [y, y[50:], y[:50]], [y, y, y], [y.t(), y, y]):\n"
           "    leaves = (wire.Leaf * 256)()\n"
           "    try:\n"
           "        n = tensors.put(out, leaves, [(str(i), t) for i, t in enumerate(parts)])\n"
           "        told.append([leaf.copied for leaf in leaves[:n]])\n"
           "    except tensors.TooLarge as error:\n"
           "        told.append('region' in str(error))\n"
           "print(json.dumps(told))\n",
           "[[0, 0], [0, 0, 0], true, true]");
}

/* `terms` of a problem with this forward, this constructor and these inputs. */
static const char terms_of[] =
    "TEXT = '''import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n"
    "class Model(nn.Module):\n"
    "    def __init__(self):\n        super().__init__()\n        %s\n"
    "    def forward(self, *a):\n        x = a[0]\n        %s\n"
    "def get_inputs():\n    return [%s]\n'''\n"
    "def terms(forward, inputs='torch.randn(16, 128)', init='pass'):\n"
    "    with open('problem.py', 'w') as f:\n"
    "        f.write(TEXT % (init, forward, inputs))\n"
    "    s = module.Subject('problem.py', 'Model', 'reference', torch.device('cpu'))\n"
    "    s.execute()\n"
    "    with torch.no_grad():\n"
    "        return describe.describe(s, {}, 7).get('terms', 'none')\n";

/* A call in Python, and what it gives, as JSON. */
struct asked {
    const char *call, *want;
};

/* Calls of what the program begins with, all in one process. */
static void expect_each(const char *begin, const struct asked *asked, size_t count)
{
    char program[MOST / 2], want[1000];
    size_t n = (size_t)snprintf(program, sizeof program, "%stold = []\n", begin), m = 0;
    for (size_t i = 0; i < count; i++) {
        n += (size_t)snprintf(program + n, sizeof program - n, "told.append(%s)\n", asked[i].call);
        m += (size_t)snprintf(want + m, sizeof want - m, "%s%s", i ? ", " : "[", asked[i].want);
    }
    snprintf(program + n, sizeof program - n, "print(json.dumps(told))\n");
    snprintf(want + m, sizeof want - m, "]");
    expect(program, want);
}

static const struct asked depends[] = {
    {"terms('return F.relu(x + 9)')", "1"},
    {"terms('return x + a[1]', 'torch.randn(16, 128), torch.randn(16, 128)')", "1"},
    {"terms('return torch.softmax(x, 1)')", "128"},
    {"terms('return x @ a[1]', 'torch.randn(16, 128), torch.randn(128, 32)')", "128"},
    {"terms('return x.cumsum(1)')", "128"},  /* the first of a row goes into all of it */
    {"terms('return x.sum(), x * 2')", "2"}, /* of the largest answer, nearly */
    {"terms('return x.mean()')", "2048"},
    {"terms('return self.n(x)', init='self.n = nn.BatchNorm1d(128)')", "16"},
    {"terms('return F.dropout(x.double().softmax(1), 0.5, True)') in range(40, 90)", "true"},
    {"terms('return (x - x) / (x - x)')", "1"}, /* NaN is as before */
    {"terms('return x.argmax(1)')", "null"},
    {"terms('return x[x > 0]')", "null"}, /* as many as there are */
    {"terms('self.k = getattr(self, \"k\", 0) + 1; return x * self.k')", "\"none\""},
    {"terms('torch.manual_seed(0) if x[0, 0] == a[1] else 1 / 0; return x',"
     " 'torch.ones(2, 2), torch.ones(1)')",
     "\"none\""}, /* it does not like other values */
};

static void inputs_that_an_answer_depends_on(void **state)
{
    (void)state;
    expect_each(terms_of, depends, sizeof depends / sizeof *depends);
}

/* Copies of an OUT that is not divided go beside the answer's tensors that lie there; where they
 * find no place, all leave it first. Numbers of each: bytes of OUT, offset and elements of a tensor
 * that lies there, whether its strides are another order's, elements of one that does not. */
static void copies_go_beside_what_lies_in_the_region(void **state)
{
    (void)state;
    expect("import torch\n"
           "from kgym_harness import tensors, wire\n"
           "def ask(size, at, lies, turned, foreign):\n"
           "    memory = torch.zeros(size, dtype=torch.uint8)\n"
           "    out = tensors.Region(memory.data_ptr(), size, torch.device('cpu'))\n"
           "    out.whole = True\n"
           "    one = out.view(torch.float32, (lies // 64, 64), at, lies * 4)\n"
           "    one.copy_(torch.arange(lies).view(lies // 64, 64))\n"
           "    two = torch.arange(foreign).to(torch.float32) + 0.5\n"
           "    named = [('0', one.t() if turned else one), ('1', two)]\n"
           "    want = [t.contiguous().clone() for _, t in named]\n"
           "    leaves = (wire.Leaf * 2)()\n"
           "    try:\n"
           "        tensors.put(out, leaves, named)\n"
           "    except tensors.TooLarge:\n"
           "        return 'too large'\n"
           "    same = all(torch.equal(out.of_leaf(l), w) for l, w in zip(leaves, want))\n"
           "    return [same, [leaf.copied for leaf in leaves]]\n"
           "told = [ask(1 << 16, 0, 4096, False, 4096),"     /* behind it */
           "        ask(1 << 16, 40960, 4096, False, 4096)," /* before it */
           "        ask(1 << 16, 0, 4096, True, 4096),"      /* turned: both behind its memory */
           "        ask(49152, 16384, 4096, False, 4096),"   /* no place on either side */
           "        ask(49152, 4096, 4096, True, 4096),"     /* its memory is in its own way */
           "        ask(36864, 4096, 4096, False, 4096)]\n"  /* no room for guards */
           "print(json.dumps(told))\n",
           "[[true,[0,1]],[true,[0,1]],[true,[1,1]],[true,[1,1]],[true,[1,1]],\"too large\"]");
}

/* Slices in double are joined where the answer is read from: OUT has room for them, and for no copy
 * of them. What finds no place there is copied beside. One input alone is cut where all cannot be;
 * then the answer is begun again. */
static void slices_are_joined_in_the_region(void **state)
{
    (void)state;
    expect("import torch\n"
           "from kgym_harness import oracle, tensors, wire\n"
           "x = torch.randn(64, 32)\n"
           "square, w2 = torch.randn(64, 64), torch.randn(64, 64)\n"
           "def ask(size, module, *given):\n"
           "    memory = torch.zeros(size, dtype=torch.uint8)\n"
           "    out = tensors.Region(memory.data_ptr(), size, torch.device('cpu'))\n"
           "    answer = oracle.in_slices(module, given, 5, out.filling)\n"
           "    _, named = tensors.flatten(answer)\n"
           "    leaves = (wire.Leaf * 2)()\n"
           "    n = tensors.put(out, leaves, named)\n"
           "    _, want = tensors.flatten(module(*oracle.wide(given)))\n"
           "    same = all(torch.allclose(out.of_leaf(l), t)\n"
           "               for l, (_, t) in zip(leaves, want))\n"
           "    return [same, out.filled, [leaf.copied for leaf in leaves[:n]]]\n"
           "both = lambda x: [x * 2, x.sum(1)]\n"
           "told = [ask(2 * 4096 + 64 * 32 * 8, lambda x: x * 2, x),\n"
           "        ask(3 * 4096 + 64 * 33 * 8, both, x),\n"
           "        ask(3 * 4096 + 64 * 33 * 8, lambda x: both(x)[::-1], x),\n"
           "        ask(2 * 4096 + 64 * 64 * 8, lambda x, y: x @ y, square, w2)]\n"
           "try:\n"
           "    told.append(ask(2 * 4096 + 64 * 32 * 8 - 1, lambda x: x * 2, x))\n"
           "except tensors.TooLarge:\n"
           "    told.append('too large')\n"
           "print(json.dumps(told))\n",
           "[[true,false,[0]],[true,false,[0,0]],[true,false,[0,0]],[true,false,[0]],"
           "\"too large\"]");
}

/* Copies of inputs that the reference writes to are there once: the last call's go first. */
static void copies_of_inputs_are_there_once(void **state)
{
    (void)state;
    expect("from kgym_harness import layout\n"
           "open('p.py', 'w').write('x = 1\\n')\n"
           "made = module.Subject('p.py', 'Model', 'candidate', torch.device('cpu'))\n"
           "made.module, made.writes, told, copy = (lambda x, y: x.add_(y)), [0], [], layout.copy\n"
           "def seen(t):\n"
           "    told.append(len(made.own_copies))\n"
           "    return copy(t)\n"
           "layout.copy = seen\n"
           "made.bind([torch.zeros(3), torch.ones(3)])\n"
           "for _ in range(3):\n"
           "    told.append(int(made.call(False)[0]))\n"
           "print(json.dumps(told))\n",
           "[0,1,0,1,0,1]");
}

/* A part that is None stays so, and tuples of any class are tuples. */
static void slices_keep_the_form_of_the_answer(void **state)
{
    (void)state;
    expect("import collections\n"
           "import torch\n"
           "from kgym_harness import oracle, tensors\n"
           "x = torch.randn(10, 4)\n"
           "Pair = collections.namedtuple('Pair', 'twice nothing')\n"
           "def ask(module):\n"
           "    structure, named = tensors.flatten(oracle.in_slices(module, [x], 3))\n"
           "    _, want = tensors.flatten(module(x.double()))\n"
           "    return [structure, all(torch.equal(a, b) for (_, a), (_, b) in zip(named, want))]\n"
           "print(json.dumps([ask(lambda x: (x * 2, None)),\n"
           "                  ask(lambda x: Pair(x * 2, None)),\n"
           "                  ask(lambda x: [None, {'a': x.max(1), 'b': None}])]))\n",
           "[[\"(T,N)\",true],[\"(T,N)\",true],[\"[N,{\\\"a\\\":(T,T),\\\"b\\\":N}]\",true]]");
}

/* Which of its streams a call on a GPU runs on, and whose memory it has: PyTorch's, a pool's of its
 * own, or OUT's. Played, since nothing of it needs a device. */
static void streams_take_turns(void **state)
{
    (void)state;
    expect(
        "import contextlib\n"
        "from kgym_harness import cuda\n"
        "log, memory = [], ['torch']\n"
        "class Lib:\n"
        "    def kg_probe_cuda_sync(self):\n"
        "        log.append('over')\n        return 0\n"
        "    def kg_out_shuffle(self, parts):\n        return 0\n"
        "    def kg_out_used(self, arena, outside):\n        return 0\n"
        "class Block:\n    out_bytes = 1\n    out_below = 0\n    may_keep = 0\n"
        "@contextlib.contextmanager\n"
        "def use(pool):\n    memory.append(pool)\n    yield\n    memory.pop()\n"
        "torch.cuda.use_mem_pool, torch.cuda.set_stream = use, log.append\n"
        "made = []\n"
        "torch.cuda.MemPool = lambda of=None: made.append(of) or ('own' if of is None else 'OUT')\n"
        "place = cuda.Cuda.__new__(cuda.Cuda)\n"
        "vars(place).update(device='cpu', lib=Lib(), streams=[0, 1, 2, 3], turn=0, block=Block, "
        "used=1, below=0, pool='OUT', first=None, greedy=None, allocator=1, parts=[], moves=True, "
        "where=(), called=set(), met=set(), output=Block())\n"
        "def calls(places, wide=False, usual=True):\n"
        "    told = []\n"
        "    for where in places:\n"
        "        place.bound(where)\n"
        "        with place.around_call(wide, usual):\n"
        "            told.append('%d %s' % (place.turn, memory[-1]))\n"
        "        place.rest()\n"
        "    return told\n"
        "told = [calls('abcdabe'), calls('a', True), calls('a')]\n"
        "place.renewed()\n"
        "told.append(calls('aa'))\n"
        "place.renewed()\n"
        "place.bound('a')\n"
        "place.settle_in()\n"
        "told.append(calls('aaaa'))\n"
        "place.renewed()\n"
        "told.append(calls('aa', False, False))\n" /* there is no memory for both */
        "Block.may_keep = 1\n"
        "made.clear()\n"
        "told.append(calls('aa', False, False))\n"
        "told.append(calls('a', True, False) + [made.count(None)] + calls('a'))\n"
        "for keep in (0, 1):\n"
        "    Block.may_keep, place.first = keep, None\n"
        "    made.clear()\n"
        "    place.renewed()\n"
        "    told.append(calls('abcde') + [made.count(None)])\n"
        "place.renewed()\n"
        "place.moves = False\n"
        "told.append(calls('aab'))\n"
        "first, then = log[::2], log[1::2]\n"
        "print(json.dumps(told + [set(first) == {'over'}, set(then) == {0, 1, 2, 3}]))\n",
        "[[\"0 torch\", \"1 own\", \"2 own\", \"3 own\", \"0 OUT\", \"1 OUT\", \"2 own\"],"
        " [\"0 torch\"], [\"1 OUT\"], [\"0 torch\", \"1 own\"],"
        " [\"0 OUT\", \"1 OUT\", \"2 OUT\", \"3 OUT\"], [\"0 torch\", \"1 own\"],"
        " [\"0 own\", \"0 own\"], [\"0 own\", 1, \"1 OUT\"],"
        " [\"0 torch\", \"1 own\", \"2 own\", \"3 own\", \"0 torch\", 3],"
        " [\"0 torch\", \"1 own\", \"2 own\", \"3 own\", \"0 torch\", 1],"
        " [\"0 torch\", \"0 OUT\", \"0 torch\"],"
        " true, true]");
}

/* Memory that is kept for later calls goes back where it is too much. What the pool over OUT has
 * taken, in OUT or beside it, is not counted. */
static void too_much_is_given_back(void **state)
{
    (void)state;
    expect("import ctypes\n"
           "from kgym_harness import cuda\n"
           "MB, gone, used = 1 << 20, [], [0, 0]\n"
           "class Lib:\n"
           "    def kg_out_used(self, arena, outside):\n"
           "        arena._obj.value, outside._obj.value = used\n"
           "class Block:\n    may_keep = 0\n"
           "place = cuda.Cuda.__new__(cuda.Cuda)\n"
           "vars(place).update(device='cpu', lib=Lib(), block=Block, greedy=None, first=None)\n"
           "torch.cuda.memory_allocated = lambda device: 100 * MB\n"
           "torch.cuda.empty_cache = lambda: gone.append(True)\n"
           "def spares(reserved, may_keep, *taken):\n"
           "    gone.clear()\n"
           "    used[:] = [n * MB for n in taken]\n"
           "    torch.cuda.memory_reserved = lambda device: reserved * MB\n"
           "    Block.may_keep = may_keep * MB\n"
           "    place.spare()\n"
           "    return bool(gone)\n"
           "told = [spares(612, 0, 0, 0), spares(613, 0, 0, 0), spares(900, 800, 0, 0),\n"
           "        spares(901, 800, 0, 0), spares(1100, 500, 300, 188),\n"
           "        spares(1100, 500, 300, 187)]\n"
           "def greedy(usual):\n" /* [is all given back, are these pools still there] */
           "    gone.clear()\n"
           "    place.greedy = place.first = 'pool'\n"
           "    used[:] = [0, 0]\n"
           "    torch.cuda.memory_reserved = \\\n"
           "        lambda device: (usual + 100 * (place.greedy is not None)) * MB\n"
           "    place.spare()\n"
           "    return [bool(gone), place.greedy is not None, place.first is not None]\n"
           "print(json.dumps(told + [greedy(512), greedy(513), greedy(613)]))\n",
           "[false, true, false, true, false, true,"
           " [false, true, true], [false, false, false], [true, false, false]]");
}

/* What a runner does in which order: takes its inputs first, where it is told to; holds work back,
 * where the device can. The nonce of such a call comes with its announcement: work that is held
 * back has been launched, its answer described, and the device told to post it, before the release.
 */
static void launches_ahead_of_the_release(void **state)
{
    (void)state;
    expect(
        "import contextlib, types\n"
        "from kgym_harness import runner\n"
        "log, w, CALL = [], wire.Wire(), runner.CALL\n"
        "class Place:\n"
        "    fresh, holds = False, True\n"
        "    def hold_back(self, base, number):\n"
        "        log.append('hold %d' % number)\n"
        "        return self.holds\n"
        "    def post_behind(self, base, number):\n"
        "        log.append('post %d' % number if w.echo[0] == 77 else 'not yet')\n"
        "    def around_call(self, wide, usual=True):\n"
        "        return contextlib.nullcontext()\n"
        "    def returned(self):\n        pass\n"
        "    def rehearse(self):\n        pass\n"
        "    def renewed(self):\n        log.append('anew')\n"
        "    def peak_bytes(self):\n        return 3\n"
        "    def finish(self, base, number, begun):\n"
        "        log.append('wait' if begun and w.echo[0] == 77 else 'too early')\n"
        "        return True\n"
        "class Probe:\n"
        "    def look(self, word, seen):\n"
        "        log.append('release')\n"
        "        w.nonce[0] = 77\n"
        "        return seen + 1\n"
        "    def post(self, word, value):\n        log.append('done')\n"
        "def call(module, *inputs):\n"
        "    log.append('call')\n"
        "    return module\n"
        "def runs(flags, holds, answer):\n"
        "    del log[:]\n"
        "    r = object.__new__(runner.Runner)\n"
        "    r.probe, r.wire, r.place, r.base = Probe(), w, Place(), runner.ctypes.addressof(w)\n"
        "    r.watch = types.SimpleNamespace(window=contextlib.nullcontext)\n"
        "    r.seen, r.number, r.begun, r.ahead = 4, 5, None, False\n"
        "    r.path, r.device, Place.holds = 'x', torch.device('cpu'), holds\n"
        "    w.flags, w.command, w.echo[0] = flags, CALL, 0\n"
        "    w.nonce[0] = 77 if flags else 0\n"
        "    w.request_bytes = 0\n"
        "    r.subject = types.SimpleNamespace(call=lambda *a: call(answer))\n"
        "    r._put = lambda answer: log.append('put') if answer else 1 / 0\n"
        "    r.commands, r._bind = {CALL: r.do_call}, lambda: log.append('bind')\n"
        "    r._finish(*r._run())\n"
        "    return [*log, w.status]\n"
        "print(json.dumps([runs(0, True, 1), runs(wire.AHEAD, True, 1),\n"
        "                  runs(wire.AHEAD, False, 1), runs(wire.AHEAD, True, 0),\n"
        "                  w.peak_bytes, runs(wire.BIND | wire.ANEW, True, 1), w.peak_bytes]))\n",
        "[[\"release\", \"call\", \"put\", \"wait\", 0],"
        " [\"hold 5\", \"call\", \"put\", \"post 5\", \"release\", \"wait\", 0],"
        " [\"hold 5\", \"release\", \"call\", \"put\", \"wait\", 0],"
        " [\"hold 5\", \"call\", \"release\", \"wait\", 1], 0,"
        " [\"anew\", \"bind\", \"release\", \"call\", \"put\", \"wait\", 0], 3]");
}

/* Where an input has structure, too, each of both laws has places of its own. */
static void touched_places(void **state)
{
    (void)state;
    expect("from kgym_harness import keeping\n"
           "one, other = (torch.rand(64, 64).tril() for _ in range(2))\n"
           "def places(law):\n"
           "    return {int(at) % 2 for seed in range(20) for at in (keeping._changed(\n"
           "        law, one, other, ['zeros'], seed, True, 1) != one).view(-1).nonzero()}\n"
           "print(json.dumps([list(places(law)) for law in ('touched', 'touched-elsewhere')]))\n",
           "[[0], [1]]");
}

/* What the broker is told of an exception: its status, whose memory is exhausted, and whether the
 * error is the device's. By class; by words only where an allocator has no class. */
static const struct {
    const char *error, *want;
} classes[] = {
    {"MemoryError()", "[8, \"host\", null]"},
    {"torch.OutOfMemoryError('Tried to allocate')", "[8, \"device\", null]"},
    {"torch.cuda.OutOfMemoryError('')", "[8, \"device\", null]"},
    {"type('OutOfMemoryError', (MemoryError,), {})()", "[8, \"device\", null]"}, /* as cupy's */
    {"RuntimeError('[enforce fail] DefaultCPUAllocator: can\\'t allocate memory')",
     "[8, \"host\", null]"},
    {"RuntimeError('DefaultCPUAllocator: not enough memory')", "[8, \"host\", null]"},
    {"RuntimeError('CUDA out of memory. Tried')", "[8, \"device\", null]"},
    {"RuntimeError('CUDA error: out of memory')", "[8, \"device\", null]"},
    {"RuntimeError('Triton Error [CUDA]: out of memory')", "[8, \"device\", null]"},
    {"RuntimeError('CUDA error: CUBLAS_STATUS_ALLOC_FAILED when')", "[8, \"device\", null]"},
    {"RuntimeError('cuDNN error: CUDNN_STATUS_ALLOC_FAILED')", "[1, \"device\", false]"},
    {"ValueError('can\\'t allocate memory')", "[1, null, false]"},
    {"ValueError('CUDA error: out of memory')", "[1, \"device\", true]"},
    {"ValueError('not a CUDA tensor')", "[1, null, false]"},
    {"type('AcceleratorError', (RuntimeError,), {})('x')", "[1, null, true]"},
    {"RuntimeError('CUDA error: an illegal memory access')", "[1, null, true]"},
    {"RuntimeError('Triton Error [CUDA]: misaligned address')", "[1, null, true]"},
    {"RuntimeError('CUDA driver error: invalid argument')", "[1, null, true]"},
};

static void classes_of_exceptions(void **state)
{
    (void)state;
    char program[MOST / 2], want[2000];
    size_t n = (size_t)snprintf(program, sizeof program,
                                "from kgym_harness import explain\ntold = []\n"
                                "def told_of(error):\n"
                                "    status, reply = explain.explain(error, 'x', False, True)\n"
                                "    told.append([status, reply.get('memory'), "
                                "reply.get('device')])\n");
    size_t m = 0;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        n += (size_t)snprintf(program + n, sizeof program - n, "told_of(%s)\n", classes[i].error);
        m += (size_t)snprintf(want + m, sizeof want - m, "%s%s", i ? ", " : "[", classes[i].want);
    }
    snprintf(program + n, sizeof program - n, "print(json.dumps(told))\n");
    snprintf(want + m, sizeof want - m, "]");
    expect(program, want);
}

/* torch.cuda's name of the class is not needed where torch has one, nor the other way round. */
static void either_name_of_the_class_is_enough(void **state)
{
    (void)state;
    expect("import importlib\n"
           "from kgym_harness import explain\n"
           "kept, told = torch.cuda.OutOfMemoryError, []\n"
           "for place, other in ((torch, torch.cuda), (torch.cuda, torch)):\n"
           "    place.OutOfMemoryError = kept\n"
           "    vars(other).pop('OutOfMemoryError', None)\n"
           "    importlib.reload(explain)\n"
           "    told.append(explain.explain(kept('x'), 'x', False, True)[1]['memory'])\n"
           "print(json.dumps(told))\n",
           "[\"device\", \"device\"]");
}

/* On its own device a tensor stays as it is, unless its gaps are vast; elsewhere torch copies it.
 */
static void strides_of_a_move(void **state)
{
    (void)state;
    expect("from kgym_harness import layout\n"
           "x, told = torch.randn(6, 8), []\n"
           "for t in (x, x.t(), x[:, ::2], x[:1].expand(6, 8),\n"
           "          torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last),\n"
           "          torch.zeros(1000, 5000)[:, 0]):\n"
           "    gpu = layout.on('cuda', t)\n"
           "    copy = layout.copy(t)\n"
           "    laid = layout.laid(t, gpu)\n"
           "    told.append([layout.on('cpu', t), gpu, layout.reach(t),\n"
           "                 copy.stride() == t.stride() and torch.equal(copy, t),\n"
           "                 laid.stride() == gpu and torch.equal(laid, t)])\n"
           "print(json.dumps(told))\n",
           "[[[8, 1], [8, 1], 48, true, true], [[1, 8], [1, 8], 48, true, true],"
           " [[8, 2], [4, 1], 47, true, true], [[0, 1], [8, 1], 8, true, true],"
           " [[60, 1, 15, 3], [60, 1, 15, 3], 120, true, true],"
           " [[1], [1], 4995001, true, true]]");
}

/* there: inputs are drawn on the device, which is the CPU again; what it changes stands for what a
 * device might. */
static const char place_of[] =
    "from kgym_harness import draws\n"
    "draws.WORTH = 1000\n"
    "def subject(inputs):\n"
    "    with open('p.py', 'w') as f:\n"
    "        f.write('import torch\\nclass Model(torch.nn.Module):\\n'\n"
    "                '    def forward(self, *x):\\n        return x[0] * 2\\n'\n"
    "                'by = iter([1, 4, 7, 10, 13, 16, 19, 22, 25])\\n'\n"
    "                'def get_inputs():\\n'\n"
    "                '    there = any(type(m).__name__ == \\'DeviceContext\\' for m in '\n"
    "                'torch.overrides._get_current_function_mode_stack())\\n'\n"
    "                '    ' + inputs + '\\n')\n"
    "    made = module.Subject('p.py', 'Model', 'reference', torch.device('cpu'))\n"
    "    made.execute()\n"
    "    return made\n"
    "def place(inputs, fast=True):\n"
    "    with torch.no_grad():\n"
    "        return describe.describe(subject(inputs), {'fast': fast}, 1)['fast']\n"
    "def elsewhere(inputs):\n"
    "    s = subject(inputs)\n"
    "    return describe._inputs_of_device(s, 1, s.draw(1), 'meta'), s.fast\n";

static const struct asked places[] = {
    {"place('return [torch.rand(64, 64)]')", "true"},
    {"place('return [torch.randn(64, 80).t(), torch.randn(3)]')", "true"},
    {"place('return [torch.randint(0, 1000, (64, 64))]')", "true"},
    {"place('return [torch.randn(64, 64).tril()]')", "true"},
    {"place('return [torch.randn(64, 64).sort().values]')", "true"},
    {"place('torch.manual_seed(3); return [torch.randn(64, 64)]')", "true"},
    {"place('by = torch.rand(()); return [torch.rand(64, 64) * by, torch.rand(64, 64)]')", "true"},
    {"place('x = torch.randn(64, 64); return [x * torch.rand(()) + 9 * torch.rand(())]')", "true"},
    {"place('x = torch.rand(64, 64) * next(by); return [x.softmax(1)]')", "true"},
    {"place('x = torch.rand(64, 64) * next(by); return [x.softmax(1) if there else x]')", "false"},
    {"place('x = torch.rand(64, 64) ** next(by); return [x if there else -x]')", "false"},
    {"place('x = (8 * torch.rand(64, 64)) ** next(by); return [x if there else x.round()]')",
     "false"},
    {"place('x = torch.randn(64, 64) if there else torch.rand(64, 64); '"
     "'return [x * torch.rand(())]')",
     "false"},
    {"place('x = torch.randn(64, 64) * torch.rand(()); return [x if there else x.round()]')",
     "false"},
    {"place('return [torch.rand(64, 64)]', False)", "false"},
    {"place('return [torch.rand(4, 4)]')", "false"}, /* not worth it */
    {"place('assert not there; return [torch.rand(64, 64)]')", "false"},
    {"place('return [torch.rand(64, 65 if there else 64)]')", "false"},
    {"place('return [torch.rand(64, 64)] * (2 if there else 1)')", "false"},
    {"place('return [torch.rand(64, 64, dtype=[torch.float32, torch.float64][there])]')", "false"},
    {"place('return [torch.rand(64, 64) * (1 if there else 0.9)]')", "false"},
    {"place('return [torch.randn(64, 64) if there else torch.rand(64, 64)]')", "false"},
    {"place('return [torch.randint(0, 1000 if there else 1200, (64, 64)).float()]')", "false"},
    {"place('x = torch.randn(64, 64); return [x.round() if there else x]')", "false"},
    {"place('x = torch.randn(64, 64); return [x.sort().values if there else x]')", "false"},
    {"place('x = torch.randn(64, 64); return [x if there else x.sort().values]')", "false"},
    {"place('torch.manual_seed(3 if there else 4); return [torch.rand(64, 64)]')", "false"},
    {"elsewhere('return [torch.rand(64, 64)]')", "[null, null]"},
    {"elsewhere('return [torch.rand(64, 64, device=\"cpu\")]')", "[null, null]"},
};

static void where_inputs_are_drawn(void **state)
{
    (void)state;
    expect_each(place_of, places, sizeof places / sizeof *places);
}

static const char smaller_of[] =
    "import builtins\n"
    "from kgym_harness import draws, smaller\n"
    "draws.WORTH, smaller.TARGET, describe.LARGE = 500, 2048, 8192\n"
    "def ask(inputs):\n"
    "    builtins.log = []\n"
    "    with open('p.py', 'w') as f:\n"
    "        f.write('import torch, builtins\\nN = 512\\n'\n"
    "                'class Model(torch.nn.Module):\\n'\n"
    "                '    def forward(self, *x):\\n        return x[0] * 2\\n'\n"
    "                'here = lambda n: builtins.log.count((False, n))\\n'\n"
    "                'def get_inputs():\\n'\n"
    "                '    there = any(type(m).__name__ == \\'DeviceContext\\' for m in '\n"
    "                'torch.overrides._get_current_function_mode_stack())\\n'\n"
    "                '    got = ' + inputs + '\\n'\n"
    "                '    builtins.log.append((there, N))\\n'\n"
    "                '    return got\\n')\n"
    "    made = module.Subject('p.py', 'Model', 'reference', torch.device('cpu'))\n"
    "    made.execute()\n"
    "    with torch.no_grad():\n"
    "        found = describe.describe(made, {'fast': True}, 1)\n"
    "    sizes = {i['shape'][0] for i in found['inputs']}\n"
    "    assert sizes <= {512, 8, 1}, sizes\n"
    "    return [found['fast'], (False, 512) in builtins.log]\n"
    "def drawn(inputs, most, caught='Exception'):\n"
    "    with open('p.py', 'w') as f:\n"
    "        f.write('import torch\\nModel, log, spare = torch.nn.Module, [], torch.ones(1)\\ndef "
    "get_inputs():\\n'\n"
    "                '    try:\\n        made = ' + inputs + '\\n'\n"
    "                '    except ' + caught + ':\\n        made = [spare]\\n'\n"
    "                '    log.append(0)\\n    return made\\n')\n"
    "    made = module.Subject('p.py', 'Model', 'reference', torch.device('cpu'))\n"
    "    made.execute()\n"
    "    found = smaller.drawn(made, 1, most)\n"
    "    assert (found is None) == (made.template is None)\n"
    "    assert caught != 'Exception' or (found is None) == (made.source.module.log == [])\n"
    "    return found is not None\n";

/* Where there is much to draw, nothing of that size is drawn on the CPU if a smaller shape shows
 * the same: [is it drawn there, was it drawn here at its own shape]. */
static const struct asked smaller[] = {
    {"ask('[torch.rand(N, 64)]')", "[true,false]"},
    {"ask('[torch.rand(N, N)]')", "[true,false]"},
    {"ask('[torch.randn(N, 64).tril(), torch.randint(0, 9, (N,))]')", "[true,false]"},
    {"ask('[torch.rand(N, 64) ** (5 if there or here(N) > 0 else 9)]')", "[true,false]"},
    {"ask('[torch.rand(N, 64) * (1 if there else 0.5)]')", "[false,true]"},
    {"ask('[torch.rand(64, N).t() if there else torch.rand(N, 64)]')", "[true,true]"},
    {"ask('[torch.rand(N, 64)] if N == 512 else 1 / 0')", "[true,true]"},  /* no other shape */
    {"ask('[torch.rand(N, 64) * float(torch.rand(()))]')", "[true,true]"}, /* nor a size */
    {"ask('[torch.rand(N, 64, device=\"cpu\")]')", "[true,true]"},
    {"ask('[torch.rand(N, 64), torch.arange(N // 16)[torch.tensor([31])]]')", "[true,true]"},
    {"ask('[torch.rand(8, 64)]')", "[true,true]"}, /* little */
};

/* [is a draw made that may have so many elements] */
static const struct asked counted[] = {
    {"drawn('[torch.rand(8, 8)]', 64)", "true"},
    {"drawn('[torch.rand(8, 8)]', 63)", "false"},
    {"drawn('[torch.rand((8, 8)), torch.randn(4)]', 68)", "true"},
    {"drawn('[torch.rand((8, 8)), torch.randn(4)]', 67)", "false"},
    {"drawn('[torch.randint(0, 1000, (8, 8))]', 64)", "true"},
    {"drawn('[torch.randint(0, 1000, size=(8, 9))]', 64)", "false"},
    {"drawn('[torch.eye(9)]', 80)", "false"},
    {"drawn('[torch.arange(7, 9), torch.linspace(0, 1, 5)]', 7)", "true"},
    {"drawn('[torch.arange(7, 9), torch.linspace(0, 1, 5)]', 6)", "false"},
    {"drawn('[torch.full((9,), 2.), torch.normal(0., 1., (4, 4))]', 25)", "true"},
    {"drawn('[torch.rand(8, 1) @ torch.rand(1, 8)]', 64)", "true"}, /* less, and not all together */
    {"drawn('[torch.rand(8, 1) @ torch.rand(1, 8)]', 63)", "false"},
    {"drawn('[torch.rand(8).repeat(8, 1)]', 63)", "false"},
    {"drawn('[torch.rand(65)]', 64, 'BaseException')", "false"}, /* the problem goes on */
    {"drawn('[torch.rand(1 << 40)]', 1 << 26)", "false"},        /* stopped before */
};

static void smaller_shapes_show_it(void **state)
{
    (void)state;
    expect_each(smaller_of, smaller, sizeof smaller / sizeof *smaller);
    expect_each(smaller_of, counted, sizeof counted / sizeof *counted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_that_share_memory),
        cmocka_unit_test(inputs_that_an_answer_depends_on),
        cmocka_unit_test(copies_go_beside_what_lies_in_the_region),
        cmocka_unit_test(slices_are_joined_in_the_region),
        cmocka_unit_test(slices_keep_the_form_of_the_answer),
        cmocka_unit_test(copies_of_inputs_are_there_once),
        cmocka_unit_test(streams_take_turns),
        cmocka_unit_test(too_much_is_given_back),
        cmocka_unit_test(launches_ahead_of_the_release),
        cmocka_unit_test(touched_places),
        cmocka_unit_test(classes_of_exceptions),
        cmocka_unit_test(strides_of_a_move),
        cmocka_unit_test(where_inputs_are_drawn),
        cmocka_unit_test(smaller_shapes_show_it),
        cmocka_unit_test(either_name_of_the_class_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
