/* Python runners: what they answer, and how their calls move tensors. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/unit/torch_rig.h"

#define SCALE                                                                                      \
    "import torch\n"                                                                               \
    "class ModelNew(torch.nn.Module):\n"                                                           \
    "    def __init__(self, n, scale=2.0):\n"                                                      \
    "        super().__init__()\n"                                                                 \
    "        self.weight = torch.nn.Parameter(torch.ones(n))\n"                                    \
    "        self.scale = scale\n"                                                                 \
    "    def forward(self, x, y):\n"                                                               \
    "        return x * self.weight * self.scale + y, {'b': [x - y], 'a': x}\n"

#define LOAD_CANDIDATE "{\"entry\": \"ModelNew\", \"role\": \"candidate\"}"

static void test_a_zygote_says_what_it_has(void **state)
{
    (void)state;
    rig_need();
    assert_true(kg_zygote_alive(&rig.zygote));
    assert_non_null(json_string_value(json_object_get(rig.zygote.facts, "torch")));
    assert_non_null(json_string_value(json_object_get(rig.zygote.facts, "python")));
    assert_int_equal(json_integer_value(json_object_get(rig.zygote.facts, "threads")), 1);
}

/* SCALE loaded and built, and where its inputs lie; the reply to BUILD. */
static const char *open_scale(struct subject *s, struct kg_tleaf in[2])
{
    subject_open(s, SCALE);
    subject_ok(s, KG_TC_LOAD, LOAD_CANDIDATE);
    in[0] = leaf_of(KG_TD_F32, "0", 2, 2, 3);
    in[1] = leaf_of(KG_TD_F32, "1", 1, 3, 0);
    kg_twire_place(in, 2);
    return subject_ok(s, KG_TC_BUILD, "{\"init\": [3], \"kwargs\": {\"scale\": 10.0}}");
}

static void put_scale_inputs(const struct subject *s, const struct kg_tleaf in[2])
{
    memcpy(s->port.to + in[0].offset, (float[]){1, 2, 3, 4, 5, 6}, 24);
    memcpy(s->port.to + in[1].offset, (float[]){.5f, .25f, .125f}, 12);
}

static void test_load_build_state_and_call(void **state)
{
    (void)state;
    rig_need();
    struct subject s;
    struct kg_tleaf in[2];
    const char *reply = open_scale(&s, in);
    assert_string_equal(reply, "{\"state\":[{\"name\":\"weight\",\"dtype\":\"float32\",\"shape\":"
                               "[3],\"buffer\":false}]}");
    struct kg_tleaf w = leaf_of(KG_TD_F32, "weight", 1, 3, 0);
    kg_twire_place(&w, 1);
    memcpy(s.port.to + w.offset, (float[]){1, 2, 3}, 12);
    assert_int_equal(subject_release(&s, KG_TC_STATE, &w, 1, 0, 20 * SECOND), 0);
    assert_int_equal(s.runner.wire->status, KG_TA_OK);
    assert_int_equal(subject_release(&s, KG_TC_BIND, in, 2, 0, 20 * SECOND), 0);
    assert_int_equal(s.runner.wire->status, KG_TA_OK);
    put_scale_inputs(&s, in);
    assert_int_equal(subject_release(&s, KG_TC_CALL, in, 2, 0, 20 * SECOND), 0);
    const struct kg_twire *a = s.runner.wire;
    assert_int_equal(a->status, KG_TA_OK);
    assert_string_equal(a->structure, "(T,{\"a\":T,\"b\":[T]})");
    assert_int_equal(a->nreply, 3);
    for (int i = 0; i < 3; i++) {
        assert_null(kg_twire_leaf_check(&a->out[i], RIG_REGION));
    }
    const float want[] = {10.5f, 40.25f, 90.125f, 40.5f, 100.25f, 180.125f};
    assert_memory_equal(s.port.from + a->out[0].offset, want, sizeof want);
    assert_string_equal(a->out[1].name, "1.a");
    assert_int_equal(a->out[1].aliases, 1); /* x itself */
    assert_int_equal(a->out[0].aliases, 0);
    assert_string_equal(a->out[2].name, "1.b.0");
    assert_int_equal(a->out[2].rank, 2);
    subject_ok(&s, KG_TC_EXIT, NULL);
    assert_true(kg_sandbox_wait(&s.runner.sandbox, kg_clock_ns() + 5 * SECOND));
    assert_int_equal(s.runner.sandbox.exit.kind, KG_EXIT_CODE);
    assert_int_equal(s.runner.sandbox.exit.code, 0);
    subject_close(&s);
}

/* All but the call is done when it is released; inputs are taken on the way. */
static void test_a_runner_waits_until_it_may_boot(void **state)
{
    (void)state;
    rig_need();
    struct kg_err err = KG_ERR_INIT;
    struct subject s;
    subject_begin(&s, "x = 1\n", rig_limits(), 0);
    usleep(300000);
    assert_int_equal(atomic_load(&s.runner.wire->state), KG_TS_BOOT);
    kg_pyrunner_go(&s.runner);
    assert_int_equal(kg_pyrunner_ready(&s.runner, &err), KG_OK);
    assert_int_equal(atomic_load(&s.runner.wire->state), KG_TS_READY);
    subject_close(&s);
    subject_begin(&s, "x = 1\n", rig_limits(),
                  0); /* who wants it says so, too; and one that waits can be ended */
    assert_int_equal(kg_pyrunner_ready(&s.runner, &err), KG_OK);
    subject_close(&s);
    subject_begin(&s, "x = 1\n", rig_limits(), 0);
    subject_close(&s);
}

/* Starts as a runner with a GPU does. */
static pid_t make_context(struct kg_twire *w)
{
    atomic_store(&w->state, KG_TS_BOOT);
    atomic_store(&w->building, KG_TB_WAITS);
    pid_t pid = fork();
    while (pid == 0 && atomic_load(&w->building) != KG_TB_NONE) {
        usleep(1000);
    }
    if (pid == 0) {
        atomic_store(&w->building, KG_TB_WAITS); /* the context is made */
        while (atomic_load(&w->building) != KG_TB_NONE) {
            usleep(1000);
        }
        atomic_store(&w->state, KG_TS_READY);
        while (true) {
            pause();
        }
    }
    return pid;
}

/* A runner with a GPU waits twice: before its context, and behind it. Who does not ask for the
 * second does not notice it. */
static void test_a_context_comes_before_the_rest(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct kg_twire *w =
        mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(w != MAP_FAILED);
    for (int asks = 0; asks < 2; asks++) {
        pid_t pid = make_context(w);
        struct kg_pyrunner r = {.wire = w, .boot_ns = 5 * SECOND, .makes_context = true};
        r.sandbox.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        assert_true(pid > 0 && r.sandbox.pidfd >= 0);
        if (asks) {
            assert_int_equal(kg_pyrunner_has_context(&r, &err), KG_OK);
            usleep(50000);
            assert_int_equal(atomic_load(&w->building), KG_TB_WAITS);
            assert_int_equal(atomic_load(&w->state), KG_TS_BOOT);
        }
        assert_int_equal(kg_pyrunner_ready(&r, &err), KG_OK);
        assert_int_equal(atomic_load(&w->state), KG_TS_READY);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        close(r.sandbox.pidfd);
    }
    munmap(w, sizeof *w);
}

static void test_a_call_that_is_announced_waits_for_its_release(void **state)
{
    (void)state;
    rig_need();
    struct subject s;
    struct kg_tleaf in[2];
    open_scale(&s, in);
    struct kg_twire *w = s.runner.wire;
    uint32_t number = atomic_load(&w->go) + 1;
    memcpy(w->in, in, sizeof in);
    w->nrequest = 2;
    w->request_bytes = 0;
    w->command = KG_TC_CALL;
    w->flags = KG_TF_BIND;
    kg_twire_announce(w);
    for (int i = 0; i < 2000 && atomic_load(&w->prepared) != number; i++) {
        usleep(10000);
    }
    assert_int_equal(atomic_load(&w->prepared), number);
    assert_int_equal(atomic_load(&w->done), number - 1);
    put_scale_inputs(&s, in);
    assert_int_equal(subject_release(&s, KG_TC_CALL, in, 2, KG_TF_BIND, 20 * SECOND), 0);
    assert_int_equal(w->status, KG_TA_OK);
    assert_int_equal(w->nreply, 3);
    assert_true(w->call_ns > 0);
    subject_close(&s);
}

/* A reference as KernelBench writes them, with all that a description tells. */
#define REFERENCE                                                                                  \
    "import torch\nimport torch.nn as nn\n\nN = 4\nM, K = 2, 3 * 2\nL = N * 2\nRATE = 0.5\n"       \
    "class Model(nn.Module):\n"                                                                    \
    "    def __init__(self, n, eps):\n"                                                            \
    "        super().__init__()\n"                                                                 \
    "        self.lin = nn.Linear(n, K)\n"                                                         \
    "        self.bn = nn.BatchNorm1d(K, eps=eps)\n"                                               \
    "    def forward(self, x, scale, labels):\n"                                                   \
    "        return torch.dropout(self.bn(self.lin(x)), RATE, True) * scale, labels + 1\n"         \
    "def get_inputs():\n"                                                                          \
    "    return [torch.randn(M, N), 2.5, torch.randint(0, 10, (L,))]\n"                            \
    "def get_init_inputs():\n    return [N, 0.5]\n"
#define LOAD_REFERENCE "{\"entry\": \"Model\", \"role\": \"reference\"}"

static json_t *subject_json(struct subject *s, enum kg_tcommand command, const char *request)
{
    struct kg_err err = KG_ERR_INIT;
    const char *text = subject_ok(s, command, request);
    json_t *j = NULL;
    assert_int_equal(kg_json_parse(text, strlen(text), "reply", &j, &err), KG_OK);
    return j;
}

/* Text of the value at keys a, b (an index or a name), c; static storage. */
static const char *at(const json_t *j, const char *path)
{
    static char out[2000];
    char keys[100];
    snprintf(keys, sizeof keys, "%s", path);
    char *left = keys;
    for (char *key; (key = strsep(&left, "/")) != NULL;) {
        j = json_is_array(j) ? json_array_get(j, (size_t)strtol(key, NULL, 10))
                             : json_object_get(j, key);
    }
    char *text = j != NULL ? json_dumps(j, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    snprintf(out, sizeof out, "%s", text != NULL ? text : "absent");
    free(text);
    return out;
}

static void test_a_description_says_what_the_task_is(void **state)
{
    (void)state;
    rig_need();
    struct subject s;
    subject_open(&s, REFERENCE);
    json_t *j = subject_json(&s, KG_TC_LOAD, LOAD_REFERENCE);
    assert_string_equal(at(j, "constants"), "{\"N\":4,\"M\":2,\"K\":6}");
    json_decref(j);
    j = subject_json(&s, KG_TC_DESCRIBE, NULL);
    assert_string_equal(at(j, "init"), "{\"args\":[4,0.5],\"kwargs\":{}}");
    assert_string_equal(at(j, "template"), "[\"T\",{\"value\":2.5},\"T\"]");
    assert_string_equal(at(j, "inputs/0/shape"), "[2,4]");
    assert_string_equal(at(j, "inputs/0/dtype"), "\"float32\"");
    assert_string_equal(at(j, "inputs/0/integer"), "false");
    assert_string_equal(at(j, "inputs/0/fixed"), "false");
    assert_string_equal(at(j, "inputs/1/shape"), "[8]");
    assert_string_equal(at(j, "inputs/1/integer"), "true");
    assert_string_equal(at(j, "inputs/1/name"), "\"2\"");
    assert_string_equal(at(j, "random"), "true");
    assert_string_equal(at(j, "deterministic"), "true");
    assert_string_equal(at(j, "updates_state"), "true");
    assert_string_equal(at(j, "training"), "true");
    assert_string_equal(at(j, "structure"), "\"(T,T)\"");
    assert_string_equal(at(j, "outputs/0/shape"), "[2,6]");
    assert_string_equal(at(j, "state/0/name"), "\"lin.weight\"");
    assert_string_equal(at(j, "state/0/buffer"), "false");
    assert_string_equal(at(j, "state/4/name"), "\"bn.running_mean\"");
    assert_string_equal(at(j, "state/4/buffer"), "true");
    assert_string_equal(at(j, "state/0/changed"), "false");
    assert_string_equal(at(j, "state/4/changed"), "true");
    json_decref(j);
    /* other constants, and what is computed from them */
    j = subject_json(&s, KG_TC_DESCRIBE, "{\"consts\": {\"N\": 5, \"M\": 3}}");
    assert_string_equal(at(j, "init/args"), "[5,0.5]");
    assert_string_equal(at(j, "inputs/0/shape"), "[3,5]");
    assert_string_equal(at(j, "inputs/1/shape"), "[10]");
    assert_string_equal(at(j, "state/0/shape"), "[6,5]");
    json_decref(j);
    struct kg_pyanswer a = subject_ask(&s, KG_TC_DESCRIBE, "{\"consts\": {\"L\": 5}}", 9 * SECOND);
    assert_int_equal(a.said, KG_TA_EXCEPTION); /* L is no literal */
    kg_pyanswer_deinit(&a);
    subject_close(&s);
}

/* A buffer that a call writes to counts as changed, even if this call leaves its values. A
 * parameter only moves. */
static void test_a_description_says_what_calls_change(void **state)
{
    (void)state;
    rig_need();
    static const char *const changed[] = {"false", "false", "true", "true", "true", "false"};
    struct subject s;
    char path[40];
    subject_open(&s, "import torch\nclass Model(torch.nn.Module):\n"
                     "    def __init__(self):\n        super().__init__()\n"
                     "        self.w = torch.nn.Parameter(torch.randn(4))\n"
                     "        self.v = torch.nn.Parameter(torch.randn(4))\n"
                     "        for name in 'abcd':\n"
                     "            self.register_buffer(name, torch.randn(4))\n"
                     "    def forward(self, x):\n"
                     "        self.v.data = self.v.data.clone()\n"
                     "        self.a.copy_(torch.where(x > 99, x, self.a))\n"
                     "        self.b = torch.where(x > 99, x, self.b)\n"
                     "        self.c.add_(x)\n"
                     "        return x * self.w + self.v + self.a + self.b + self.c + self.d\n"
                     "def get_inputs():\n    return [torch.rand(4)]\n"
                     "def get_init_inputs():\n    return []\n");
    subject_ok(&s, KG_TC_LOAD, LOAD_REFERENCE);
    json_t *j = subject_json(&s, KG_TC_DESCRIBE, NULL);
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
        snprintf(path, sizeof path, "state/%zu/changed", i);
        assert_string_equal(at(j, path), changed[i]);
    }
    json_decref(j);
    subject_close(&s);
}

static void test_a_description_of_what_is_not_random(void **state)
{
    (void)state;
    rig_need();
    struct subject s;
    subject_open(&s, "import torch\nclass Model(torch.nn.Module):\n"
                     "    def forward(self, x, i):\n        x.add_(1)\n        return x[i]\n"
                     "def get_inputs():\n    return [torch.ones(4), torch.arange(3)]\n"
                     "def get_init_inputs():\n    return []\n");
    subject_ok(&s, KG_TC_LOAD, LOAD_REFERENCE);
    json_t *j = subject_json(&s, KG_TC_DESCRIBE, NULL);
    assert_string_equal(at(j, "random"), "false");
    assert_string_equal(at(j, "updates_state"), "false");
    assert_string_equal(at(j, "writes_inputs"), "[\"0\"]");
    assert_string_equal(at(j, "inputs/1/fixed"), "true");
    assert_string_equal(at(j, "inputs/0/distinct"), "1");
    assert_string_equal(at(j, "state"), "[]");
    json_decref(j);
    subject_close(&s);
}

/* KernelBook: any name, [args, kwargs], objects as configuration; the candidate is built with the
 * same through JSON. */
static void test_kernelbook_arguments_survive(void **state)
{
    (void)state;
    rig_need();
    static const char text[] =
        "import torch\nclass Config:\n    def __init__(self, **kw): self.__dict__.update(kw)\n"
        "class Net(torch.nn.Module):\n"
        "    def __init__(self, sizes, config=None, dtype=None):\n"
        "        super().__init__()\n"
        "        assert sizes == (3, [4], float('inf')), sizes\n"
        "        assert config.hidden == 7 and config.inner.x is None and dtype is torch.float16\n"
        "    def forward(self, x):\n        return x\n"
        "class NetNew(Net): pass\n"
        "def get_inputs():\n    return [torch.rand(2), [torch.rand(1), {'k': torch.rand(3)}]]\n"
        "def get_init_inputs():\n"
        "    return [[(3, [4], float('inf'))], {'config': Config(hidden=7, inner=Config(x=None)),"
        " 'dtype': torch.float16}]\n";
    struct subject s;
    subject_open(&s, text);
    subject_ok(&s, KG_TC_LOAD, "{\"entry\": \"Net\", \"role\": \"reference\"}");
    json_t *j = subject_json(&s, KG_TC_DESCRIBE, "{\"run\": false}");
    assert_string_equal(at(j, "template"), "[\"T\",{\"list\":[\"T\",{\"dict\":{\"k\":\"T\"}}]}]");
    assert_string_equal(at(j, "inputs/2/name"), "\"1.1.k\"");
    json_t *build =
        json_pack("{s:O, s:O, s:O}", "init", json_object_get(json_object_get(j, "init"), "args"),
                  "kwargs", json_object_get(json_object_get(j, "init"), "kwargs"), "inputs",
                  json_object_get(j, "template"));
    char *request = json_dumps(build, JSON_COMPACT);
    subject_ok(&s, KG_TC_LOAD, "{\"entry\": \"NetNew\", \"role\": \"candidate\"}");
    subject_ok(&s, KG_TC_BUILD, request);
    free(request);
    json_decref(build);
    json_decref(j);
    subject_close(&s);
}

/* DRAW puts what get_inputs gives; a wide call is in double, of the state that the float call began
 * with; SNAPSHOT shows the state after. */
static void test_a_reference_draws_and_is_its_own_oracle(void **state)
{
    (void)state;
    rig_need();
    struct subject s;
    subject_open(&s, "import torch\nclass Model(torch.nn.Module):\n"
                     "    def __init__(self):\n        super().__init__()\n"
                     "        self.register_buffer('n', torch.zeros(1))\n"
                     "        self.third = torch.tensor(3.0)\n"
                     "    def forward(self, x):\n        self.n += 1\n"
                     "        return x / self.third + self.n\n"
                     "def get_inputs():\n    return [torch.rand(3, 2).t()]\n"
                     "def get_init_inputs():\n    return []\n");
    const struct kg_twire *w = s.runner.wire;
    subject_ok(&s, KG_TC_LOAD, LOAD_REFERENCE);
    subject_ok(&s, KG_TC_BUILD, NULL);
    assert_int_equal(subject_release(&s, KG_TC_DRAW, NULL, 0, 0, 9 * SECOND), 0);
    assert_int_equal(w->status, KG_TA_OK);
    assert_int_equal(w->nreply, 1);
    assert_int_equal(w->out[0].rank, 1); /* its memory: the strides are known */
    assert_int_equal(w->out[0].shape[0], 6);
    assert_int_equal(w->out[0].copied, 1);
    float drawn[6];
    memcpy(drawn, s.port.from + w->out[0].offset, sizeof drawn);
    assert_int_equal(subject_release(&s, KG_TC_DRAW, NULL, 0, 0, 9 * SECOND), 0);
    assert_memory_equal(drawn, s.port.from + w->out[0].offset, sizeof drawn); /* the same seed */
    struct kg_tleaf in = leaf_of(KG_TD_F32, "0", 2, 2, 3);
    kg_twire_place(&in, 1);
    memcpy(s.port.to + in.offset, drawn, sizeof drawn);
    assert_int_equal(subject_release(&s, KG_TC_BIND, &in, 1, 0, 9 * SECOND), 0);
    assert_int_equal(subject_release(&s, KG_TC_CALL, &in, 1, 0, 9 * SECOND), 0);
    assert_int_equal(w->status, KG_TA_OK);
    assert_int_equal(w->out[0].dtype, KG_TD_F32);
    float single;
    memcpy(&single, s.port.from + w->out[0].offset, sizeof single);
    assert_true(single == drawn[0] / 3.0f + 1);
    assert_int_equal(subject_release(&s, KG_TC_CALL, &in, 1, KG_TF_WIDE, 9 * SECOND), 0);
    assert_int_equal(w->status, KG_TA_OK);
    assert_int_equal(w->out[0].dtype, KG_TD_F64);
    double wide;
    memcpy(&wide, s.port.from + w->out[0].offset, sizeof wide);
    assert_true(wide == (double)drawn[0] / 3.0 + 1);
    assert_int_equal(subject_release(&s, KG_TC_SNAPSHOT, NULL, 0, 0, 9 * SECOND), 0);
    assert_string_equal(w->out[0].name, "n");
    memcpy(&single, s.port.from + w->out[0].offset, sizeof single);
    assert_true(single == 1);
    subject_close(&s);
}

/* How the state goes in, and what refuses it. */
static void test_state_by_name_by_order_by_method_or_not(void **state)
{
    (void)state;
    rig_need();
    static const struct {
        const char *members, *more;
        enum kg_tstatus want;
        const char *how;
    } each[] = {
        {"self.b = P(2); self.a = P(3)", "", KG_TA_OK, "{\"how\":\"name\"}"},
        {"self.x = P(3); self.y = P(2)", "", KG_TA_OK, "{\"how\":\"order\"}"},
        {"self.a = P(3)", "", KG_TA_STATE, NULL},
        {"self.a = P(3); self.b = P(2); self.c = P(1)", "", KG_TA_OK, "{\"how\":\"name\"}"},
        {"self.x = P(3); self.y = P(2); self.z = P(1)", "", KG_TA_STATE, NULL},
        {"self.y = P(2); self.x = P(3)", "", KG_TA_STATE, NULL},
        {"self.both = P(5)", "", KG_TA_STATE, NULL},
        {"self.both = P(5)",
         "    def load_reference_state(self, s):\n"
         "        self.both.copy_(torch.cat([s['a'], s['b']]))\n",
         KG_TA_OK, "{\"how\":\"method\"}"},
        {"self.a = P(3); self.b = P(2)",
         "    def prepare(self):\n        self.sum = self.a.sum()\n", KG_TA_OK,
         "{\"how\":\"name\"}"},
        {"self.a = P(3); self.b = P(2)", "    def prepare(self):\n        raise ValueError('p')\n",
         KG_TA_EXCEPTION, NULL},
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        char text[1000];
        snprintf(text, sizeof text,
                 "import torch\ndef P(n): return torch.nn.Parameter(torch.zeros(n))\n"
                 "class ModelNew(torch.nn.Module):\n    def __init__(self):\n"
                 "        super().__init__()\n        %s\n%s"
                 "    def forward(self):\n"
                 "        return torch.cat([p for _, p in sorted(self.named_parameters())])\n",
                 each[i].members, each[i].more);
        struct subject s;
        subject_open(&s, text);
        subject_ok(&s, KG_TC_LOAD, LOAD_CANDIDATE);
        subject_ok(&s, KG_TC_BUILD, "{\"init\": []}");
        struct kg_tleaf in[2] = {leaf_of(KG_TD_F32, "a", 1, 3, 0),
                                 leaf_of(KG_TD_F32, "b", 1, 2, 0)};
        kg_twire_place(in, 2);
        memcpy(s.port.to + in[0].offset, (float[]){1, 2, 3}, 12);
        memcpy(s.port.to + in[1].offset, (float[]){4, 5}, 8);
        assert_int_equal(subject_release(&s, KG_TC_STATE, in, 2, 0, 9 * SECOND), 0);
        const struct kg_twire *w = s.runner.wire;
        if (w->status != each[i].want) {
            fail_msg("%s: said %u: %.200s", each[i].members, w->status, w->reply);
        }
        if (each[i].how != NULL) {
            char said[64];
            snprintf(said, sizeof said, "%.*s", (int)w->reply_bytes, w->reply);
            char *space = strchr(said, ' ');
            if (space != NULL) {
                memmove(space, space + 1, strlen(space));
            }
            assert_string_equal(said, each[i].how);
            memset(s.port.to, 0, RIG_REGION); /* it must have copied */
            assert_int_equal(subject_release(&s, KG_TC_BIND, NULL, 0, 0, 9 * SECOND), 0);
            assert_int_equal(subject_release(&s, KG_TC_CALL, NULL, 0, 0, 9 * SECOND), 0);
            assert_int_equal(w->status, KG_TA_OK);
            assert_memory_equal(s.port.from + w->out[0].offset, ((float[]){1, 2, 3, 4, 5}), 20);
        }
        subject_close(&s);
    }
}

/* What a call may answer. expr sees x, f32[2,3]. */
/* Whether `before` is another set of copies after each step: taking inputs launches nothing where
 * the buffers are as they were, for the judge times its own work then. */
static const char copies[] =
    "import torch\n"
    "from kgym_harness import module\n"
    "class Model(torch.nn.BatchNorm1d):\n"
    "    pass\n"
    "if __name__ == '__main__':\n"
    "    m = module.Subject(__file__, 'Model', 'reference', torch.device('cpu'))\n"
    "    m.execute()\n"
    "    m.build([3], {}, 1)\n"
    "    last, x = [None], torch.randn(8, 3)\n"
    "    def note():\n"
    "        print(int(m.before is not last[0]), end='')\n"
    "        last[0] = m.before\n"
    "    with torch.no_grad():\n"
    "        given = [(n, t.clone()) for n, t in m.state()]\n"
    "        m.bind([x]); note()\n"
    "        m.bind([x]); note()\n"
    "        m.load(given); note()\n"
    "        m.bind([x]); note()\n"
    "        m.call(False)\n"
    "        assert (m.before['running_mean'] == 0).all()\n"
    "        m.bind([x]); note()\n"
    "        m.module.running_mean = torch.zeros(3)\n"
    "        m.bind([x]); note()\n"
    "    print(end='.')\n";

/* This script says that. */
static void says(const char *script, const char *want)
{
    char command[2 * PATH_MAX + 200], said[400];
    snprintf(command, sizeof command, "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='%s' '%s' '%s' 2>&1",
             rig.harness, rig.python, rig_source(script));
    FILE *f = popen(command, "r");
    assert_non_null(f);
    said[fread(said, 1, sizeof said - 1, f)] = '\0';
    pclose(f);
    assert_string_equal(said, want);
}

static void test_buffers_are_copied_where_they_changed(void **state)
{
    (void)state;
    rig_need();
    says(copies, "101011.");
}

/* A torch of two modules, as some installers leave it: without bytecode; then as others do. What is
 * kept is used, elsewhere than beside it, and nothing is written once it is imported.
 */
static const char compiled[] =
    "import importlib, os, pathlib, py_compile, sys, tempfile\n"
    "from kgym_harness import zygote\n"
    "def lies(top):\n"
    "    return sorted(p.name.split('.')[0] for p in pathlib.Path(top).rglob('*.pyc'))\n"
    "with tempfile.TemporaryDirectory() as top:\n"
    "    own, kept = os.path.join(top, 'own'), os.path.join(top, 'kept')\n"
    "    os.makedirs(os.path.join(own, 'torch'))\n"
    "    for name in ('torch/__init__', 'torch/late', 'later'):\n"
    "        pathlib.Path(own, name + '.py').write_text('x = 1\\n')\n"
    "    sys.path.insert(0, own)\n"
    "    with zygote.bytecode(None):\n"
    "        import torch\n"
    "    assert lies(top) == [] and torch.x == 1\n"
    "    for k in range(2):\n"
    "        del sys.modules['torch']\n"
    "        sys.modules.pop('torch.late', None)\n"
    "        with zygote.bytecode(kept):\n"
    "            import torch.late\n"
    "        assert lies(own) == [] and lies(kept) == ['__init__', 'late']\n"
    "        assert torch.late.__cached__.startswith(kept)\n"
    "        assert sys.pycache_prefix is None and sys.dont_write_bytecode\n"
    "        made = os.stat(torch.late.__cached__).st_mtime_ns\n"
    "        first = made if k == 0 else first\n"
    "    assert first == made\n"
    "    import later\n"
    "    assert lies(top) == ['__init__', 'late']\n"
    "    del sys.modules['torch'], sys.modules['torch.late']\n"
    "    py_compile.compile(os.path.join(own, 'torch', '__init__.py'))\n"
    "    with zygote.bytecode(os.path.join(top, 'none')):\n"
    "        import torch.late\n"
    "    assert lies(own) == ['__init__'] and not os.path.exists(os.path.join(top, 'none'))\n"
    "print('right')\n";

static void test_modules_are_kept_compiled(void **state)
{
    (void)state;
    rig_need();
    says(compiled, "right\n");
}

static void test_answers_of_every_kind(void **state)
{
    (void)state;
    rig_need();
    static const struct {
        const char *expr;
        enum kg_tstatus want;
        const char *structure;
    } each[] = {
        {"x + 1", KG_TA_OK, "T"},
        {"[x, None, (x,)]", KG_TA_OK, "[T,N,(T)]"},
        {"torch.max(x, 1)", KG_TA_OK, "(T,T)"},
        {"{'z': x, 'a': []}", KG_TA_OK, "{\"a\":[],\"z\":T}"},
        {"x.bool()", KG_TA_OK, "T"},
        {"x.bfloat16()", KG_TA_OK, "T"},
        {"torch.zeros(0, 5)", KG_TA_OK, "T"},
        {"torch.tensor(3)", KG_TA_OK, "T"},
        {"1.0", KG_TA_STRUCTURE, NULL},
        {"torch.nn.Parameter(x)", KG_TA_STRUCTURE, NULL},
        {"x.to_sparse()", KG_TA_STRUCTURE, NULL},
        {"x.to(torch.complex64)", KG_TA_STRUCTURE, NULL},
        {"x.to('meta')", KG_TA_STRUCTURE, NULL},
        {"{1: x}", KG_TA_STRUCTURE, NULL},
        {"[x] * 257", KG_TA_TOO_LARGE, NULL},
        {"torch.zeros(1 << 22)", KG_TA_TOO_LARGE, NULL},
        {"x.reshape(1, 1, 1, 1, 1, 1, 1, 2, 3)", KG_TA_TOO_LARGE, NULL},
        {"[x, type('T', (torch.Tensor,), {})()]", KG_TA_STRUCTURE, NULL},
    };
    struct subject s;
    char text[3000];
    int n = snprintf(text, sizeof text,
                     "import torch\nclass ModelNew(torch.nn.Module):\n"
                     "    n = 0\n    def forward(self, x):\n        self.n += 1\n"
                     "        return (");
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        n += snprintf(text + n, sizeof text - (size_t)n, "lambda: %s,\n            ", each[i].expr);
    }
    snprintf(text + n, sizeof text - (size_t)n, ")[self.n - 1]()\n");
    subject_open(&s, text);
    subject_ok(&s, KG_TC_LOAD, LOAD_CANDIDATE);
    subject_ok(&s, KG_TC_BUILD, "{\"init\": []}");
    struct kg_tleaf in = leaf_of(KG_TD_F32, "0", 2, 2, 3);
    kg_twire_place(&in, 1);
    assert_int_equal(subject_release(&s, KG_TC_BIND, &in, 1, 0, 9 * SECOND), 0);
    const struct kg_twire *w = s.runner.wire;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        assert_int_equal(subject_release(&s, KG_TC_CALL, &in, 1, 0, 9 * SECOND), 0);
        if (w->status != each[i].want) {
            fail_msg("%s: said %u: %.200s", each[i].expr, w->status, w->reply);
        }
        if (each[i].structure != NULL) {
            assert_string_equal(w->structure, each[i].structure);
        }
        for (uint32_t k = 0; k < w->nreply; k++) {
            const char *wrong = kg_twire_leaf_check(&w->out[k], RIG_REGION);
            if (wrong != NULL) {
                fail_msg("%s: %s", each[i].expr, wrong);
            }
        }
    }
    subject_close(&s);
}

/* IN can only be read: an operator in place dies of it, and the broker can tell. */
static void test_a_write_to_an_input_is_told(void **state)
{
    (void)state;
    rig_need();
    static const char *const texts[] = {"x.add_(1)", "__import__('ctypes').memset(8, 0, 4)"};
    for (size_t i = 0; i < 2; i++) {
        struct subject s;
        char text[400];
        snprintf(text, sizeof text,
                 "import torch\nclass ModelNew(torch.nn.Module):\n"
                 "    def forward(self, x):\n        return %s\n",
                 texts[i]);
        subject_open(&s, text);
        subject_ok(&s, KG_TC_LOAD, LOAD_CANDIDATE);
        subject_ok(&s, KG_TC_BUILD, "{\"init\": []}");
        struct kg_tleaf in = leaf_of(KG_TD_F32, "0", 1, 1000, 0);
        kg_twire_place(&in, 1);
        assert_int_equal(subject_release(&s, KG_TC_BIND, &in, 1, 0, 9 * SECOND), 0);
        assert_int_equal(subject_release(&s, KG_TC_CALL, &in, 1, 0, 9 * SECOND),
                         KG_TWIRE_RUNNER_DEAD);
        kg_pyrunner_stop(&s.runner);
        assert_int_equal(kg_pyrunner_signal(&s.runner), SIGSEGV);
        assert_int_equal(kg_pyrunner_wrote_input(&s.runner), i == 0);
        subject_close(&s);
    }
}

static void test_a_long_source(void **state)
{
    (void)state;
    rig_need();
    size_t cap = 300000, n = 0;
    char *text = malloc(cap);
    assert_non_null(text);
    for (int i = 0; n < 200000; i++) {
        n += (size_t)snprintf(text + n, cap - n, "def f%d(x):\n    return x + %d\n", i, i);
    }
    snprintf(text + n, cap - n, "class ModelNew:\n    pass\n");
    struct subject s;
    subject_open(&s, text);
    subject_ok(&s, KG_TC_LOAD, LOAD_CANDIDATE);
    subject_close(&s);
    free(text);
}

/* What it answers is a claim: nonsense in the block is the protocol's end, not a result. */
static void test_forged_answers_are_noticed(void **state)
{
    (void)state;
    rig_need();
    static const char *const forgeries[] = {
        "wire.nonce[0] = 0",                                            /* its echo is wrong */
        "wire.status = 77; done()",                                     /* no such status */
        "wire.reply_bytes = 1 << 31; done()",                           /* beyond the block */
        "wire.reply = b'{\"a\"'; wire.reply_bytes = 4; echo(); done()", /* no JSON */
        "wire.reply = b'[1]'; wire.reply_bytes = 3; echo(); done()",
    };
    for (size_t i = 0; i < sizeof forgeries / sizeof *forgeries; i++) {
        char text[1200];
        snprintf(text, sizeof text,
                 "import gc, time\nfrom kgym_harness import wire as w, runner\n"
                 "r = [o for o in gc.get_objects() if type(o) is runner.Runner][0]\n"
                 "wire = r.wire\n"
                 "def echo():\n    wire.echo[0], wire.echo[1] = wire.nonce[0], wire.nonce[1]\n"
                 "def done():\n"
                 "    if wire.echo[0] == 0: echo()\n"
                 "    r.probe.post(r.base + w.Wire.done.offset, r.seen)\n    time.sleep(60)\n"
                 "class ModelNew: pass\nwire.echo[0] = 0\n%s\n",
                 forgeries[i]);
        struct subject s;
        subject_open(&s, text);
        struct kg_pyanswer a = subject_ask(&s, KG_TC_LOAD, LOAD_CANDIDATE, 9 * SECOND);
        if (a.status != KG_PY_PROTOCOL) {
            fail_msg("%s: status %d, said %d", forgeries[i], (int)a.status, (int)a.said);
        }
        assert_null(a.reply);
        kg_pyanswer_deinit(&a);
        subject_close(&s);
    }
}

/* Triton compiles stubs with the host's compiler: it works inside, in its own /tmp. */
static void test_a_compiler_works_inside(void **state)
{
    (void)state;
    rig_need();
    if (access("/usr/bin/gcc", X_OK) != 0 || !(kg_sandbox_caps()->steps & KG_STEP_MOUNTNS)) {
        printf("skip: no gcc in /usr/bin, or no /tmp of its own\n");
        skip();
    }
    struct subject s;
    subject_open(
        &s,
        "import ctypes, os, subprocess, tempfile\n"
        "d = tempfile.mkdtemp()\nos.makedirs(os.environ['TRITON_CACHE_DIR'])\n"
        "open(d + '/a.c', 'w').write('#include <math.h>\\nint f(int x) { return x + 1; }')\n"
        "subprocess.check_call(['gcc', '-O2', '-shared', '-fPIC', '-o', d + '/a.so', d + '/a.c'])\n"
        "to = os.environ['TRITON_CACHE_DIR'] + '/a.so'\nos.replace(d + '/a.so', to)\n"
        "assert ctypes.CDLL(to).f(41) == 42\nclass ModelNew: pass\n");
    subject_ok(&s, KG_TC_LOAD, LOAD_CANDIDATE);
    subject_close(&s);
}

static void test_a_zygote_that_dies_is_noticed_and_replaced(void **state)
{
    (void)state;
    rig_need();
    struct kg_err err = KG_ERR_INIT;
    struct kg_zygote_spec spec = rig_spec();
    struct kg_zygote z;
    assert_int_equal(rig_zygote(&spec, &z, &err), KG_OK);
    struct port port;
    port_open(&port);
    struct kg_pyrunner_spec one = {.source = rig_source("class ModelNew: pass\n"),
                                   .ctrl_fd = port.ctrl,
                                   .in_fd = port.in,
                                   .out_fd = port.out,
                                   .limits = rig_limits(),
                                   .cpu = -1};
    struct kg_pyrunner r;
    assert_int_equal(kg_pyrunner_begin(&z, &one, &r, &err), KG_OK);
    assert_int_equal(kg_pyrunner_ready(&r, &err), KG_OK);
    kill(z.pid, SIGKILL);
    for (int i = 0; i < 500 && kg_zygote_alive(&z); i++) {
        usleep(10000);
    }
    assert_false(kg_zygote_alive(&z));
    struct kg_pyanswer a; /* what it had borne lives on */
    json_t *request = json_pack("{s:s}", "entry", "ModelNew");
    kg_pyrunner_command(&r, KG_TC_LOAD, request, 0, kg_clock_ns() + 9 * SECOND, &a);
    json_decref(request);
    assert_int_equal(a.status, KG_PY_ANSWERED);
    kg_pyanswer_deinit(&a);
    kg_pyrunner_stop(&r);
    assert_int_equal(kg_pyrunner_begin(&z, &one, &r, &err), KG_E_GYM);
    assert_int_equal(err.blame, KG_BLAME_GYM);
    kg_pyrunner_stop(&r);
    kg_zygote_stop(&z);
    kg_zygote_stop(&z);
    port_close(&port);
}

static void test_what_is_missing_is_named(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct kg_zygote_spec spec = rig_spec();
    struct kg_zygote z;
    spec.python = "/nowhere/python";
    assert_int_equal(rig_zygote(&spec, &z, &err), KG_E_HOST);
    assert_non_null(strstr(err.message, "/nowhere/python: No such file"));
    assert_non_null(strstr(err.message, "make torch"));
    assert_int_equal(z.pid, -1);
    spec = rig_spec();
    if (access(spec.python[0] == '/' ? spec.python : "/usr/bin/python3", X_OK) != 0) {
        return;
    }
    /* a torch that does not import */
    char path[128], file[160];
    snprintf(path, sizeof path, "%s/fake", rig.folder);
    snprintf(file, sizeof file,
             "cp -r '%s' '%s' && echo 'raise ImportError(\"none here\")' > '%s/torch.py'",
             rig.harness, path, path);
    if (strlen(rig.harness) > 60 || system(file) != 0) {
        return;
    }
    spec.harness = path;
    assert_int_equal(rig_zygote(&spec, &z, &err), KG_E_HOST);
    assert_non_null(strstr(err.message, "cannot import torch: ImportError: none here"));
    assert_non_null(strstr(err.message, "make torch"));
}

/* For a GPU its runners take any of the cores that the worker was given, and no other. */
static void test_cores_are_those_allowed(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct kg_zygote_spec spec = rig_spec();
    struct kg_zygote z;
    cpu_set_t mine, seen;
    int last = -1;
    rig_need();
    assert_int_equal(sched_getaffinity(0, sizeof mine, &mine), 0);
    for (int c = 0; c < CPU_SETSIZE; c++) {
        last = CPU_ISSET((size_t)c, &mine) ? c : last;
    }
    spec.cuda = true;
    CPU_ZERO(&spec.cpus);
    CPU_SET((size_t)last, &spec.cpus);
    assert_int_equal(kg_zygote_begin(&spec, &z, &err), KG_OK);
    assert_null(z.facts);
    assert_int_equal(kg_zygote_ready(&z, &err), KG_OK);
    assert_non_null(z.facts);
    assert_int_equal(kg_zygote_ready(&z, &err), KG_OK);
    assert_int_equal(sched_getaffinity(z.pid, sizeof seen, &seen), 0);
    assert_true(CPU_EQUAL(&seen, &spec.cpus));
    kg_zygote_stop(&z);
}

/* The environment with which a zygote was started, its zeros made line ends. */
static void environment_of(const struct kg_zygote *z, char *out, size_t cap)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)z->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    size_t n = 0;
    ssize_t got;
    while (n < cap - 1 && (got = read(fd, out + n, cap - 1 - n)) > 0) {
        n += (size_t)got;
    }
    close(fd);
    for (size_t i = 0; i < n; i++) {
        out[i] = out[i] == '\0' ? '\n' : out[i];
    }
    out[n] = '\0';
}

/* The judge has the whole environment. With another list of devices a runner's cuda:0 would be
 * another GPU. */
static void test_it_sees_the_gpus_that_the_judge_sees(void **state)
{
    (void)state;
    static char text[32 << 10];
    rig_need();
    environment_of(&rig.zygote, text, sizeof text);
    assert_null(strstr(text, "CUDA_VISIBLE_DEVICES"));
    assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", "3,1", 1), 0);
    assert_int_equal(setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1), 0);
    struct kg_err err = KG_ERR_INIT;
    struct kg_zygote_spec spec = rig_spec();
    struct kg_zygote z;
    spec.cuda = true;
    assert_int_equal(sched_getaffinity(0, sizeof spec.cpus, &spec.cpus), 0);
    enum kg_code code = rig_zygote(&spec, &z, &err);
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("CUDA_DEVICE_ORDER");
    if (code != KG_OK) {
        fail_msg("%s", err.message);
    }
    environment_of(&z, text, sizeof text);
    kg_zygote_stop(&z);
    assert_non_null(strstr(text, "\nCUDA_VISIBLE_DEVICES=3,1\n"));
    assert_non_null(strstr(text, "\nCUDA_DEVICE_ORDER=PCI_BUS_ID\n"));
    assert_non_null(strstr(text, "\nKGYM_CUDA=1\n"));
}

/* Triton without a GPU: through its interpreter, in a zygote of its own; the plain one says that a
 * GPU is needed. */
static void test_triton_is_interpreted(void **state)
{
    (void)state;
    rig_need();
    if (!json_is_string(json_object_get(rig.zygote.facts, "triton"))) {
        printf("skip: triton is missing\n");
        skip();
    }
    static const char text[] = "import torch, triton, triton.language as tl\n"
                               "@triton.jit\ndef k(x, y, n, B: tl.constexpr):\n"
                               "    i = tl.program_id(0) * B + tl.arange(0, B)\n"
                               "    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)\n"
                               "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
                               "        y = torch.empty_like(x)\n        k[(1,)](x, y, x.numel(), "
                               "B=16)\n        return y\n";
    struct kg_zygote plain = rig.zygote;
    for (int interpret = 0; interpret < 2; interpret++) {
        struct kg_err err = KG_ERR_INIT;
        struct kg_zygote_spec spec = rig_spec();
        spec.interpret = true;
        if (interpret && rig_zygote(&spec, &rig.zygote, &err) != KG_OK) {
            fail_msg("%s", err.message);
        }
        struct subject s;
        subject_open(&s, text);
        subject_ok(&s, KG_TC_LOAD, LOAD_CANDIDATE);
        subject_ok(&s, KG_TC_BUILD, "{\"init\": []}");
        struct kg_tleaf in = leaf_of(KG_TD_F32, "0", 1, 10, 0);
        kg_twire_place(&in, 1);
        for (int i = 0; i < 10; i++) {
            memcpy(s.port.to + in.offset + (size_t)i * 4, &(float){(float)i}, 4);
        }
        assert_int_equal(subject_release(&s, KG_TC_BIND, &in, 1, 0, 9 * SECOND), 0);
        assert_int_equal(subject_release(&s, KG_TC_CALL, &in, 1, 0, 60 * SECOND), 0);
        const struct kg_twire *w = s.runner.wire;
        if (w->status != (interpret ? KG_TA_OK : KG_TA_NEEDS_GPU)) {
            fail_msg("interpret %d: said %u: %.500s", interpret, w->status, w->reply);
        }
        if (interpret) {
            float nine;
            memcpy(&nine, s.port.from + w->out[0].offset + 36, 4);
            assert_true(nine == 18);
            kg_zygote_stop(&rig.zygote);
        }
        subject_close(&s);
    }
    rig.zygote = plain;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_zygote_says_what_it_has),
        cmocka_unit_test(test_load_build_state_and_call),
        cmocka_unit_test(test_a_runner_waits_until_it_may_boot),
        cmocka_unit_test(test_a_context_comes_before_the_rest),
        cmocka_unit_test(test_a_call_that_is_announced_waits_for_its_release),
        cmocka_unit_test(test_a_description_says_what_the_task_is),
        cmocka_unit_test(test_a_description_says_what_calls_change),
        cmocka_unit_test(test_a_description_of_what_is_not_random),
        cmocka_unit_test(test_kernelbook_arguments_survive),
        cmocka_unit_test(test_a_reference_draws_and_is_its_own_oracle),
        cmocka_unit_test(test_state_by_name_by_order_by_method_or_not),
        cmocka_unit_test(test_buffers_are_copied_where_they_changed),
        cmocka_unit_test(test_modules_are_kept_compiled),
        cmocka_unit_test(test_answers_of_every_kind),
        cmocka_unit_test(test_a_write_to_an_input_is_told),
        cmocka_unit_test(test_a_long_source),
        cmocka_unit_test(test_forged_answers_are_noticed),
        cmocka_unit_test(test_a_compiler_works_inside),
        cmocka_unit_test(test_a_zygote_that_dies_is_noticed_and_replaced),
        cmocka_unit_test(test_what_is_missing_is_named),
        cmocka_unit_test(test_cores_are_those_allowed),
        cmocka_unit_test(test_it_sees_the_gpus_that_the_judge_sees),
        cmocka_unit_test(test_triton_is_interpreted),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
