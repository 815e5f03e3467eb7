/* Python candidates that misbehave: each ends as what it is, leaves nothing, and the zygote forks
 * the next one. */
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "gym/sandbox/cgroup.h"
#include "tests/unit/torch_rig.h"

#define LOAD "{\"entry\": \"ModelNew\", \"role\": \"candidate\"}"
/* The control groups that this process made and still has. */
static int groups_left(void)
{
    const struct kg_cgroup_host *h = kg_cgroup_host();
    char prefix[64];
    snprintf(prefix, sizeof prefix, "kgym-%d-", (int)getpid());
    int n = 0;
    for (int i = 0; i < 3; i++) {
        DIR *d = h->base[i][0] != '\0' ? opendir(h->base[i]) : NULL;
        struct dirent *e;
        while (d != NULL && (e = readdir(d)) != NULL) {
            n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
        }
        if (d != NULL) {
            closedir(d);
        }
    }
    return n;
}

static void close_and_check(struct subject *s)
{
    subject_close(s);
    assert_int_equal(s->runner.sandbox.pid, -1);
    assert_int_equal(groups_left(), 0);
    assert_true(kg_zygote_alive(&rig.zygote));
    siginfo_t si = {0};
    while (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) == 0 && si.si_pid != 0) {
        fail_msg("process %d was left behind", (int)si.si_pid);
    }
}

/* Runs text by LOAD; what became of it. */
static struct kg_pyanswer load(struct subject *s, const char *text, int64_t ns)
{
    subject_open(s, text);
    return subject_ask(s, KG_TC_LOAD, LOAD, ns);
}

static const char *reply_of(const struct kg_pyanswer *a, const char *key)
{
    const char *text = json_string_value(json_object_get(a->reply, key));
    return text != NULL ? text : "";
}

static void test_exceptions_are_told(void **state)
{
    (void)state;
    rig_need();
    static const struct {
        const char *text;
        enum kg_tstatus want;
        const char *type, *message, *where;
    } each[] = {
        {"import torch\n\ndef f():\n    raise ValueError('bad \\udc80 thing')\nf()\n",
         KG_TA_EXCEPTION, "ValueError", "bad ? thing", "line 4, in f"},
        {"import nowhere_to_be_found\n", KG_TA_EXCEPTION, "ModuleNotFoundError",
         "No module named 'nowhere_to_be_found'", "line 1, in <module>"},
        {"import sys\nsys.exit(3)\n", KG_TA_EXCEPTION, "SystemExit", "3", "line 2, in <module>"},
        {"raise KeyboardInterrupt\n", KG_TA_EXCEPTION, "KeyboardInterrupt", "",
         "line 1, in <module>"},
        {"x = (\n", KG_TA_SYNTAX, "", "'(' was never closed", ""},
        {"def f():\nreturn 1\n", KG_TA_SYNTAX, "", NULL, ""},
        {"import torch\nclass Model(torch.nn.Module):\n    pass\n", KG_TA_NO_ENTRY, "",
         "the module does not define ModelNew", ""},
        {"raise MemoryError\n", KG_TA_OUT_OF_MEMORY, "MemoryError", "", "line 1, in <module>"},
        {"import torch\ntorch.empty(1 << 45)\n", KG_TA_OUT_OF_MEMORY, "RuntimeError", NULL,
         "line 2, in <module>"}, /* the CPU's allocator has no class of its own */
        {"import torch\ntorch.zeros(3).cuda()\n", KG_TA_NEEDS_GPU, NULL, NULL,
         "line 2, in <module>"},
        {"def f(n):\n    return f(n + 1)\nf(0)\n", KG_TA_EXCEPTION, "RecursionError", NULL,
         "line 2, in f"},
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        struct subject s;
        struct kg_pyanswer a = load(&s, each[i].text, 30 * SECOND);
        assert_int_equal(a.status, KG_PY_ANSWERED);
        if (a.said != each[i].want) {
            fail_msg("%s: said %d: %s %s", each[i].text, (int)a.said, reply_of(&a, "type"),
                     reply_of(&a, "message"));
        }
        if (each[i].type != NULL) {
            assert_string_equal(reply_of(&a, "type"), each[i].type);
        }
        if (each[i].message != NULL) {
            assert_string_equal(reply_of(&a, "message"), each[i].message);
        }
        assert_string_equal(reply_of(&a, "where"), each[i].where);
        kg_pyanswer_deinit(&a);
        close_and_check(&s);
    }
}

static void test_deaths_are_told_apart(void **state)
{
    (void)state;
    rig_need();
    static const struct {
        const char *text;
        enum kg_exit_kind kind;
        int code, signal;
    } each[] = {
        {"import os\nos._exit(0)\n", KG_EXIT_CODE, 0, 0},
        {"import os\nos._exit(17)\n", KG_EXIT_CODE, 17, 0},
        {"import ctypes\nctypes.string_at(8)\n", KG_EXIT_SIGNAL, SIGSEGV, SIGSEGV},
        {"import os\nos.abort()\n", -1, -1, SIGABRT},
        {"import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", -1, -1, SIGSEGV},
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        struct subject s;
        struct kg_pyanswer a = load(&s, each[i].text, 30 * SECOND);
        assert_int_equal(a.status, KG_PY_DIED);
        kg_pyrunner_stop(&s.runner);
        if ((int)each[i].kind >= 0) {
            assert_int_equal(s.runner.sandbox.exit.kind, each[i].kind);
            assert_int_equal(s.runner.sandbox.exit.code, each[i].code);
        }
        assert_int_equal(kg_pyrunner_signal(&s.runner), each[i].signal);
        assert_false(kg_pyrunner_wrote_input(&s.runner));
        kg_pyanswer_deinit(&a);
        close_and_check(&s);
    }
}

static void test_a_deadline_holds(void **state)
{
    (void)state;
    rig_need();
    static const char *const texts[] = {
        "while True:\n    pass\n",
        "import time\ntime.sleep(1000)\n",
        /* every handler there is, and the lock of the interpreter held */
        "import signal\nfor s in range(1, 65):\n    try:\n        signal.signal(s, "
        "signal.SIG_IGN)\n"
        "    except Exception:\n        pass\nx = 10 ** 10 ** 9\n",
        "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct subject s;
        struct kg_pyanswer a = load(&s, texts[i], SECOND);
        assert_int_equal(a.status, KG_PY_TIMEOUT);
        kg_pyanswer_deinit(&a);
        close_and_check(&s);
    }
}

static void test_a_fork_bomb_is_bounded(void **state)
{
    (void)state;
    rig_need();
    struct kg_limits limits = rig_limits();
    limits.processes = 20;
    struct subject s;
    subject_open_limited(&s,
                         "import os, time\nn = 0\n"
                         "for i in range(200):\n    try:\n        if os.fork() == 0:\n"
                         "            time.sleep(100)\n        n += 1\n"
                         "    except OSError as e:\n        assert e.errno == 11\n"
                         "raise ValueError(n)\n",
                         limits, 0);
    struct kg_pyanswer a = subject_ask(&s, KG_TC_LOAD, LOAD, 30 * SECOND);
    assert_int_equal(a.status, KG_PY_ANSWERED);
    long n = strtol(reply_of(&a, "message"), NULL, 10);
    assert_true(n > 0 && n < 20);
    kg_pyanswer_deinit(&a);
    close_and_check(&s);
}

static void test_memory_is_bounded(void **state)
{
    (void)state;
    rig_need();
    struct kg_limits limits = rig_limits();
    limits.memory_bytes = 256 << 20;
    static const char *const texts[] = {
        "import torch\nkept = []\nwhile True:\n    kept.append(torch.ones(1 << 22))\n",
        "kept = []\nwhile True:\n    kept.append(bytearray(b'x' * (1 << 20)))\n",
        /* in its own /tmp */
        "with open('/tmp/x', 'wb') as f:\n    while True:\n        f.write(b'x' * (1 << 20))\n",
    };
    bool grouped = kg_sandbox_caps()->steps & KG_STEP_CGROUP; /* else only address space counts */
    for (size_t i = 0; i < (grouped ? 3 : 2); i++) {
        struct subject s;
        limits.file_bytes = i == 2 ? (int64_t)1 << 40 : limits.file_bytes;
        subject_open_limited(&s, texts[i], limits, 0);
        struct kg_pyanswer a = subject_ask(&s, KG_TC_LOAD, LOAD, 60 * SECOND);
        kg_pyrunner_stop(&s.runner);
        bool told = a.status == KG_PY_ANSWERED && a.said == KG_TA_OUT_OF_MEMORY;
        bool killed = a.status == KG_PY_DIED && s.runner.sandbox.exit.kind == KG_EXIT_OOM;
        if (!told && !killed) {
            fail_msg("%s: status %d, said %d, exit %d/%d", texts[i], (int)a.status, (int)a.said,
                     (int)s.runner.sandbox.exit.kind, s.runner.sandbox.exit.code);
        }
        kg_pyanswer_deinit(&a);
        close_and_check(&s);
    }
}

static void test_a_flood_is_drained_and_counted(void **state)
{
    (void)state;
    rig_need();
    struct subject s;
    struct kg_pyanswer a = load(&s,
                                "import sys\nprint('begin')\nfor i in range(64):\n"
                                "    sys.stdout.write('y' * (1 << 20))\nprint('\\nend')\n"
                                "sys.stderr.write('err')\nclass ModelNew: pass\n",
                                60 * SECOND);
    assert_int_equal(a.status, KG_PY_ANSWERED);
    assert_int_equal(a.said, KG_TA_OK);
    kg_pyanswer_deinit(&a);
    kg_pyrunner_stop(&s.runner);
    const struct kg_output *o = &s.runner.output[0];
    assert_int_equal(o->bytes, 6 + (64 << 20) + 5);
    assert_memory_equal(o->head, "begin\nyyy", 9);
    assert_memory_equal(o->tail + o->tail_len - 6, "y\nend\n", 6);
    assert_memory_equal(s.runner.output[1].head, "err", 3);
    close_and_check(&s);
}

/* Tries everything; the exception's message lists what worked. %s: a file of the host, the tree;
 * %d: the broker. */
static const char tries[] =
    "import os, socket, ctypes, subprocess, signal, glob\n"
    "libc = ctypes.CDLL(None, use_errno=True)\n"
    "def call(n, *a):\n"
    "    if libc.syscall(n, *a) < 0:\n"
    "        raise OSError(ctypes.get_errno(), 'refused')\n"
    "tries = {\n"
    "  'host file': lambda: open('%s').read(),\n"
    "  'passwd': lambda: open('/etc/passwd').read(),\n"
    "  'shadow': lambda: open('/etc/shadow').read(),\n"
    "  'repository': lambda: open('%s/Makefile').read(),\n"
    "  'other processes': lambda: 1 / ([p for p in os.listdir('/proc') if p.isdigit() and int(p) "
    "!= os.getpid()] != []),\n"
    "  'parents memory': lambda: open('/proc/%%d/mem' %% os.getppid()).read(),\n"
    "  'write source': lambda: open('/kgym/source.py', 'w'),\n"
    "  'write usr': lambda: open('/usr/lib/x', 'w'),\n"
    "  'write python': lambda: open(os.path.join(os.path.dirname(os.__file__), 'x'), 'w'),\n"
    "  'write root': lambda: os.mkdir('/x'),\n"
    "  'inet': lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),\n"
    "  'unix': lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM),\n"
    "  'netlink': lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),\n"
    "  'kill parent': lambda: os.kill(os.getppid(), 9) if os.getppid() else 1 / 0,\n"
    "  'kill broker': lambda: os.kill(%d, 9),\n"
    "  'kill all': lambda: os.killpg(os.getpgid(0), 0) if os.getpgid(0) != os.getpid() else 1 "
    "/ 0,\n"
    "  'ptrace': lambda: call(101, 16, 1, 0, 0),\n"
    "  'mount': lambda: call(165, b'x', b'/tmp', b'tmpfs', 0, 0),\n"
    "  'unshare': lambda: call(272, 0x10000000),\n"
    "  'setns': lambda: call(308, 0, 0),\n"
    "  'bpf': lambda: call(321, 0, 0, 0),\n"
    "  'keyctl': lambda: call(250, 0, -3, 0),\n"
    "  'userfaultfd': lambda: call(323, 1),\n"
    "  'perf_event_open': lambda: call(298, 0, 0, -1, -1, 0),\n"
    "  'io_uring_setup': lambda: call(425, 1, 0),\n"
    "  'process_vm_readv': lambda: call(310, os.getpid(), 0, 0, 0, 0, 0),\n"
    "  'pidfd_getfd': lambda: call(438, 0, 0, 0),\n"
    "  'init_module': lambda: call(175, 0, 0, b''),\n"
    "  'kexec_load': lambda: call(246, 0, 0, 0, 0),\n"
    "  'setuid': lambda: os.setuid(0),\n"
    "  'death signal': lambda: call(157, 1, 0, 0, 0, 0),\n"
    "  'chroot': lambda: os.chroot('/tmp'),\n"
    "  'own program': lambda: (open('/tmp/p', 'w').write('#!/bin/sh\\nexit 0\\n'),"
    " os.chmod('/tmp/p', 0o755), subprocess.run(['/tmp/p'], check=True)),\n"
    "  'environment': lambda: os.environ['KGYM_TEST_SECRET'],\n"
    "  'descriptors': lambda: 1 / (sorted(int(x) for x in os.listdir('/proc/self/fd'))[:-1] != [0, "
    "1, 2]),\n"
    "}\n"
    "open_ = []\n"
    "for name, what in tries.items():\n"
    "    try:\n        what()\n        open_.append(name)\n"
    "    except Exception as e:\n        pass\n"
    "raise ValueError(', '.join(open_))\n";

static void try_all(uint32_t without, char out[1000])
{
    char secret[96], text[6000];
    snprintf(secret, sizeof secret, "%s/secret", rig.folder);
    FILE *f = fopen(secret, "w");
    assert_non_null(f);
    fputs("42", f);
    fclose(f);
    assert_int_equal(chmod(secret, 0644), 0);
    const char *tree = rig_tree()[0] == '/' ? rig_tree() : "/nowhere";
    int n = snprintf(text, sizeof text, tries, secret, tree, (int)getpid());
    assert_true(n > 0 && (size_t)n < sizeof text);
    struct subject s;
    subject_open_limited(&s, text, rig_limits(), without);
    struct kg_pyanswer a = subject_ask(&s, KG_TC_LOAD, LOAD, 30 * SECOND);
    assert_int_equal(a.status, KG_PY_ANSWERED);
    assert_string_equal(reply_of(&a, "type"), "ValueError");
    snprintf(out, 1000, "%s", reply_of(&a, "message"));
    kg_pyanswer_deinit(&a);
    close_and_check(&s);
}

static bool has_steps(uint32_t need)
{
    if ((kg_sandbox_caps()->steps & need) != need) {
        printf("skip: this host lacks namespaces or seccomp\n");
        return false;
    }
    return true;
}

static void test_what_a_candidate_cannot_do(void **state)
{
    (void)state;
    rig_need();
    char open_[1000];
    if (!has_steps(KG_STEP_MOUNTNS | KG_STEP_PIDNS | KG_STEP_NETNS | KG_STEP_SECCOMP)) {
        skip();
    }
    try_all(0, open_);
    assert_string_equal(open_, "");
}

/* The same tries notice each step that is missing. */
static void test_the_tries_can_succeed(void **state)
{
    (void)state;
    rig_need();
    char open_[1000];
    if (!has_steps(KG_STEP_MOUNTNS | KG_STEP_PIDNS | KG_STEP_SECCOMP | KG_STEP_LANDLOCK)) {
        skip();
    }
    static const struct {
        uint32_t without;
        const char *wants;
    } each[] = {
        {KG_STEP_MOUNTNS | KG_STEP_LANDLOCK, "host file"},
        {KG_STEP_SECCOMP, "inet"},
        {KG_STEP_SECCOMP, "death signal"},
        {KG_STEP_LANDLOCK, "own program"},
        {KG_STEP_FDS, "descriptors"},
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        try_all(each[i].without, open_);
        if (strstr(open_, each[i].wants) == NULL) {
            fail_msg("without 0x%x `%s` is not possible: only %s", each[i].without, each[i].wants,
                     open_);
        }
    }
}

/* Hosts differ in what they allow: a runner starts whatever is missing, and the record says so. */
static void test_each_step_may_be_missing(void **state)
{
    (void)state;
    rig_need();
    for (int i = 0; i < KG_STEP_COUNT; i++) {
        struct subject s;
        subject_open_limited(&s, "import torch\nclass ModelNew: pass\n", rig_limits(), 1u << i);
        subject_ok(&s, KG_TC_LOAD, LOAD);
        subject_ok(&s, KG_TC_BUILD, "{\"init\": []}");
        assert_true((s.runner.sandbox.isolation.lacks & (1u << i)) != 0);
        close_and_check(&s);
    }
}

/* Where there is no control group the limit is of address space. */
static void test_memory_is_bounded_without_cgroups(void **state)
{
    (void)state;
    rig_need();
    struct kg_limits limits = rig_limits();
    limits.memory_bytes = 256 << 20;
    struct subject s;
    subject_open_limited(&s, "import torch\nx = torch.ones(1 << 20)\ny = torch.ones(1 << 30)\n",
                         limits, KG_STEP_CGROUP);
    struct kg_pyanswer a = subject_ask(&s, KG_TC_LOAD, LOAD, 60 * SECOND);
    assert_int_equal(a.status, KG_PY_ANSWERED);
    assert_int_equal(a.said, KG_TA_OUT_OF_MEMORY);
    assert_string_equal(reply_of(&a, "where"), "line 3, in <module>");
    kg_pyanswer_deinit(&a);
    close_and_check(&s);
}

/* Number of cores that a runner, its thread and its process have after each has asked for all. */
static void cores_it_gets(uint32_t without, int cpu, char out[40])
{
    struct subject s;
    subject_open_limited(&s,
                         "import os, threading\nn = []\n"
                         "def take():\n"
                         "    os.sched_setaffinity(0, range(1024))\n"
                         "    return len(os.sched_getaffinity(0))\n"
                         "n.append(take())\n"
                         "t = threading.Thread(target=lambda: n.append(take()))\n"
                         "t.start()\nt.join()\n"
                         "r, w = os.pipe()\n"
                         "if os.fork() == 0:\n"
                         "    os.write(w, bytes([take()]))\n    os._exit(0)\n"
                         "raise ValueError(n + list(os.read(r, 1)))\n",
                         rig_limits(), without);
    kg_pyrunner_pin(&s.runner, cpu); /* as a runner of a GPU is, from outside */
    struct kg_pyanswer a = subject_ask(&s, KG_TC_LOAD, LOAD, 30 * SECOND);
    assert_int_equal(a.status, KG_PY_ANSWERED);
    assert_string_equal(reply_of(&a, "type"), "ValueError");
    snprintf(out, 40, "%s", reply_of(&a, "message"));
    kg_pyanswer_deinit(&a);
    close_and_check(&s);
}

/* On the other cores somebody else is timed. Asking for them is no error: libraries pin threads. */
static void test_it_stays_on_its_core(void **state)
{
    (void)state;
    rig_need();
    char got[40];
    cpu_set_t all;
    if (!has_steps(KG_STEP_SECCOMP) || sched_getaffinity(0, sizeof all, &all) != 0 ||
        CPU_COUNT(&all) < 2) {
        skip();
    }
    int cpu = 0;
    while (!CPU_ISSET((size_t)cpu, &all)) {
        cpu++;
    }
    cores_it_gets(0, cpu, got);
    assert_string_equal(got, "[1, 1, 1]");
    cores_it_gets(KG_STEP_SECCOMP, cpu, got);
    assert_string_not_equal(got, "[1, 1, 1]");
}

int main(void)
{
    setenv("KGYM_TEST_SECRET", "42", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exceptions_are_told),
        cmocka_unit_test(test_deaths_are_told_apart),
        cmocka_unit_test(test_a_deadline_holds),
        cmocka_unit_test(test_a_fork_bomb_is_bounded),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_a_flood_is_drained_and_counted),
        cmocka_unit_test(test_what_a_candidate_cannot_do),
        cmocka_unit_test(test_the_tries_can_succeed),
        cmocka_unit_test(test_it_stays_on_its_core),
        cmocka_unit_test(test_each_step_may_be_missing),
        cmocka_unit_test(test_memory_is_bounded_without_cgroups),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
