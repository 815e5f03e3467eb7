/* PyTorch on the command line: listing needs no Python; judging, batches and onboarding do, and are
 * skipped where it lacks torch. */
#include "kgym_rig.h"

#define MODULE                                                                                     \
    "\"\"\"Twice.\"\"\"\nimport torch\nimport torch.nn as nn\n\nn = 40\n\n\n"                      \
    "class Model(nn.Module):\n    def forward(self, x):\n        return 2 * x\n\n\n"               \
    "def get_inputs():\n    return [torch.randn(n, 3)]\n\n\n"                                      \
    "def get_init_inputs():\n    return []\n"
#define CANDIDATE(body)                                                                            \
    "import torch\nimport torch.nn as nn\n\n\nclass ModelNew(nn.Module):\n"                        \
    "    def forward(self, x):\n        return " body "\n"
#define CPU " --device cpu --set cache=none"

static void files(void)
{
    rig_text("twice.py", MODULE);
    rig_text("good.py", CANDIDATE("x + x"));
    rig_text("bad.py", CANDIDATE("x"));
    rig_text("reply.md", "```python\n" CANDIDATE("x * 2") "```\n");
}

/* Importing torch takes seconds: asked once. */
static void need_torch(void)
{
    static bool known;
    files();
    if (!known && rig_run("$K eval ./twice.py good.py --stop-after extract" CPU) == 2) {
        rig_says("make torch");
        printf("skip: %s", rig.err.data);
        skip();
    }
    known = true;
}

static void test_listing(void **state)
{
    (void)state;
    files();
    rig_expect(0, "$K problems list");
    rig_shows("27_relu ");
    rig_expect(0, "$K problems list --json | grep '\"27_relu\"' > one.json && cat one.json");
    json_t *j = rig_json();
    assert_string_equal(rig_get(j, "language"), "python");
    assert_string_equal(rig_get(j, "entry"), "ModelNew");
    assert_string_equal(rig_get(j, "suite"), "torch");
    assert_int_equal(json_integer_value(json_object_get(j, "level")), 1);
    json_decref(j);
    rig_expect(0, "$K problems show 27_relu");
    rig_shows("class Model");
    rig_expect(0, "$K problems show ./twice.py");
    rig_shows("a candidate defines class ModelNew");
    rig_expect(0, "$K problems show $T/problems/kernelbook/rows.jsonl#1");
    rig_expect(2, "$K problems show 27_rely");
    rig_says("did you mean '27_relu'");
    rig_expect(2, "$K problems show $T/problems/kernelbook/rows.jsonl#99");
    rig_says("no such line");
    rig_expect(0, "mkdir -p more/level2 && cp twice.py more/level2/ && echo x = 1 > more/util.py "
                  "&& $K problems list --suites more");
    rig_shows("twice ");
    rig_shows("level 2");
    rig_expect(2, "$K eval twice good.py --device gpu");
    rig_says("auto, cpu or cuda:N");
    rig_expect(2, "$K eval ./twice.py good.py --python /nonexistent" CPU);
    rig_says("make torch");
}

static void test_judging(void **state)
{
    (void)state;
    need_torch();
    rig_expect(0, "$K eval ./twice.py good.py" CPU);
    rig_shows("right on every input");
    rig_shows("not measured (no GPU");
    rig_expect(1, "$K eval ./twice.py bad.py --json" CPU);
    json_t *j = rig_json();
    assert_string_equal(rig_get(j, "verdict"), "wrong");
    assert_string_equal(rig_get(json_object_get(j, "candidate"), "language"), "python");
    json_decref(j);
    rig_expect(0, "$K eval ./twice.py bad.py --json" CPU " > r.json; "
                  "$K eval ./twice.py bad.py --replay r.json --json" CPU " > again.json; "
                  "jq -S .private r.json > a; jq -S .private again.json > b; cmp a b");
}

/* What a candidate raises comes to the terminal as text, on the line that says so. */
static void test_words_of_a_candidate(void **state)
{
    (void)state;
    need_torch();
    rig_text("forged.py",
             "import ctypes\nimport torch.nn as nn\n\n\nclass ModelNew(nn.Module):\n"
             "    def forward(self, x):\n        ctypes.CDLL('\\x1b]0;x\\x07\\x1b[2K\\r"
             "kgym eval: ok, reward 5\\n cuda libcuda.so.1')\n        return x\n");
    rig_expect(2, "$K eval ./twice.py forged.py" CPU);
    assert_true(strchr(rig.err.data, '\n') == rig.err.data + rig.err.len - 1);
    for (size_t i = 0; i + 1 < rig.err.len; i++) {
        assert_true((unsigned char)rig.err.data[i] >= ' ');
    }
    rig_says("the candidate needs a GPU, and there is none: ");
    rig_says(" kgym eval: ok, reward 5  cuda libcuda.so.1");
}

/* What torch raises where it looks for a GPU to build for says nothing about that. */
static void test_an_extension_without_a_gpu(void **state)
{
    (void)state;
    need_torch();
    rig_text("extension.py",
             "import torch.nn as nn\nimport torch.utils.cpp_extension as e\n\n\n"
             "e._get_cuda_arch_flags() if e.CUDA_HOME else e.load_inline('x', '', "
             "cuda_sources='x', functions=['f'])\n\n\n"
             "class ModelNew(nn.Module):\n    def forward(self, x):\n        return 2 * x\n");
    rig_expect(2, "$K eval ./twice.py extension.py" CPU);
    assert_null(strstr(rig.err.data, "index out of range"));
    rig_says("the candidate needs a GPU, and there is none: ");
    rig_says("CUDA_HOME");
}

static void test_batch(void **state)
{
    (void)state;
    need_torch();
    rig_text("in.jsonl",
             "{\"id\": \"a\", \"problem\": \"twice.py\", \"source_file\": \"good.py\"}\n"
             "{\"id\": \"b\", \"problem\": \"silu\", \"source\": \"void silu(\"}\n"
             "{\"id\": \"c\", \"problem\": \"twice.py\", \"source_file\": \"bad.py\"}\n"
             "{\"id\": \"d\", \"problem\": \"twice.py\", \"reply_file\": \"reply.md\"}\n");
    rig_expect(0, "$K eval --batch in.jsonl --out out.jsonl --jobs 1" CPU);
    rig_says("4 with a verdict (2 ok)");
    rig_expect(0, "jq -r .verdict out.jsonl | tr '\\n' ' '");
    rig_shows("ok rejected wrong ok");
    rig_expect(0, "$K eval --batch in.jsonl --out out.jsonl --jobs 1" CPU);
    rig_says("4 kept from an earlier run");
    /* A process that is begun ahead is the next line's: none after a worker's last one. */
    rig_expect(0,
               "sed -n '1p;3p' in.jsonl > two.jsonl; for jobs in 1 2; do for ahead in yes no; do "
               "rm -f out.jsonl; $K eval --batch two.jsonl --out out.jsonl --jobs $jobs "
               "--torch-spare $ahead --trace spans" CPU
               " && grep -c '\"fork\"' spans > $ahead || exit 1; done; cmp yes no || exit 1; done");
    /* Each call says its parts. */
    rig_expect(0, "for part in set-up answer after; do "
                  "grep -c '\"'$part'\",\"cat\":\"part of a call\"' spans; done | uniq | "
                  "awk '$1 > 5' | wc -l");
    rig_shows("1");
}

/* Later children's sake, but only when nobody waits for a child; and a thread would be the end. */
static void test_the_zygotes_chores(void **state)
{
    (void)state;
    rig_text("chores.py",
             "import os, socket, sys, threading\n"
             "sys.path.insert(0, os.environ['T'] + '/harness')\n"
             "from kgym_harness import zygote\n"
             "def play(client, chores):\n"
             "    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
             "    if os.fork() == 0:\n"
             "        b.close(); client(a); os._exit(0)\n"
             "    a.close(); os.read(told[0], 1) if client is at_once else None\n"
             "    zygote.serve(b, None, chores)\n"
             "def at_once(a):\n"
             "    for k in range(3): a.send(b'{}')\n"
             "    a.shutdown(socket.SHUT_WR); os.write(told[1], b'0')\n"
             "    assert [a.recv(99) != b'' for k in range(3)] == [True] * 3\n"
             "    a.recv(99)\n"
             "def in_turn(a):\n"
             "    a.send(b'{}'); a.recv(99); os.read(told[0], 1); os.read(told[0], 1)\n"
             "    a.send(b'{}'); a.recv(99)\n"
             "told, seen = os.pipe(), []\n"
             "left = [lambda: seen.append(1)]\n"
             "play(at_once, left)\n"
             "assert not seen and len(left) == 1, 'somebody waited'\n"
             "left = [lambda: os.write(told[1], b'1'), lambda: os.write(told[1], b'2')]\n"
             "play(in_turn, left)\n"
             "assert left == []\n"
             "go = threading.Event()\n"
             "try: play(in_turn, [threading.Thread(target=go.wait, daemon=True).start])\n"
             "except SystemExit as end: sys.exit(0 if end.code == 1 else 'another end')\n"
             "sys.exit('a thread was let in')\n");
    rig_expect(0, "timeout 20 python3 chores.py");
}

/* Paths from the folder that kgym is called in, though the zygote works in another. */
static void test_relative_paths(void **state)
{
    (void)state;
    need_torch();
    rig_expect(
        0, "P=$(command -v ${KGYM_PYTHON:-$KGYM_HOME/../../.venv/bin/python} || "
           "command -v python3); ln -s $KGYM_HOME home && ln -s $(dirname $(dirname $P)) env && "
           "KGYM_HOME=home KGYM_PYTHON=env/bin/$(basename $P) $K eval ./twice.py good.py" CPU);
    rig_shows("right on every input");
}

/* Importing torch takes seconds, and the judge starts meanwhile: here python does not begin before
 * its parent has another child. */
static void test_the_judge_does_not_wait_for_torch(void **state)
{
    (void)state;
    need_torch();
    rig_text("patient", "#!/bin/sh\nfor i in $(seq 100); do\n"
                        "    [ $(grep -lxF \"PPid:\t$PPID\" /proc/[0-9]*/status 2>/dev/null | wc "
                        "-l) -ge 2 ] && exec \"$PYTHON\" \"$@\"\n"
                        "    sleep .05\ndone\necho nobody else >&2\nexit 1\n");
    rig_expect(0, "P=$(command -v ${KGYM_PYTHON:-$KGYM_HOME/../../.venv/bin/python} || "
                  "command -v python3); sed -i \"s,\\$PYTHON,$P,\" patient; chmod +x patient; "
                  "KGYM_PYTHON=./patient $K eval ./twice.py good.py" CPU);
    rig_shows("right on every input");
}

/* What the driver says is shown, and what would cost trust is said to be lacking; a driver's
 * library and its management's that are no GPU's, so that nothing can be timed. */
static void test_doctor_of_a_gpu(void **state)
{
    (void)state;
    static const char with[] =
        "KGYM_LIBCUDA=$KGYM_HOME/libfakecuda.so KGYM_NVRTC=$KGYM_HOME/libfakecuda.so "
        "KGYM_CUDA_CACHE=none KGYM_LIBNVML=$KGYM_HOME/libfakenvml.so CUDA_MPS_PIPE_DIRECTORY=$PWD";
    static const struct {
        const char *says; /* start, MIG, compute mode, throttle reasons */
        const char *shown[4];
    } cases[] = {
        {"0 0 0 0x4",
         {"580.1, CUDA 13.0, bus 0000:19:00.0", "ok    mig        off", "ok    mode       default",
          "ok    clocks     SM 1980 of 1995 MHz, memory 3201 of 3202, 41 C now; slowed by the"}},
        {"0 1 3 0x28",
         {"lacks mig        on: this is a slice", "lacks mode       exclusive-process",
          "lacks clocks", "slowed by the hardware; slowed by heat"}},
        {"0 -1 0 0", {"ok    mig        not a part of this board", "lacks mps        a daemon's"}},
        {"9 0 0 0", {"lacks driver     the driver's management library knows no GPU"}},
    };
    need_torch();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig_expect(0, "%s control", i == 2 ? "touch" : "rm -f");
        rig_expect(1, "FAKE_NVML='%s' %s $K doctor --set device=cuda:0", cases[i].says, with);
        for (size_t k = 0; k < 4 && cases[i].shown[k]; k++) {
            rig_shows(cases[i].shown[k]);
        }
        rig_shows("lacks timing ");
        rig_shows("it needs at least 3000 MB of cuda:0, where 1024 MB may be used");
    }
    rig_expect(1, "FAKE_NVML='0 0 0 0' %s $K doctor --set device=cuda:0 --json", with);
    json_t *j = rig_json(), *gpu = json_object_get(json_object_get(j, "pytorch"), "gpu");
    assert_string_equal(rig_get(gpu, "compute_mode"), "default");
    assert_true(json_is_null(json_object_get(gpu, "power_mw"))); /* this driver does not say it */
    json_decref(j);
}

/* A device that was asked for and is not there is said as that, beside what is there. */
static void test_doctor_of_an_absent_device(void **state)
{
    (void)state;
    need_torch();
    rig_expect(1, "$K doctor --device cuda:999");
    rig_shows("\n  ok    python     3.");
    rig_shows("\n  ok    torch      ");
    rig_shows("\n  lacks device     cuda:999: ");
    rig_expect(1, "$K doctor --device cuda:999 --json");
    json_t *j = rig_json(), *facts = json_object_get(j, "pytorch");
    assert_true(strlen(rig_get(facts, "torch")) > 0 && strlen(rig_get(facts, "error")) > 0);
    json_decref(j);
    rig_expect(1, "printf '#!/bin/sh\\nexit 1\\n' > none; chmod +x none; "
                  "KGYM_PYTHON=./none $K doctor --device cuda:999");
    rig_shows("\n  lacks package    torch: ");
    rig_expect(0, "$K doctor --help | grep -c -- --device");
}

static void test_onboarding(void **state)
{
    (void)state;
    need_torch();
    rig_text("zero.py", "import torch\nimport torch.nn as nn\n\n\nclass Model(nn.Module):\n"
                        "    def forward(self, x):\n        return x - x\n\n\n"
                        "def get_inputs():\n    return [torch.randn(8)]\n\n\n"
                        "def get_init_inputs():\n    return []\n");
    rig_text("loss.py",
             "import torch\nimport torch.nn as nn\n\n\nclass Model(nn.Module):\n"
             "    def forward(self, x, y):\n"
             "        return nn.functional.mse_loss(x, y)\n\n\n"
             "def get_inputs():\n    return [torch.randn(64, 8), torch.rand(64, 8)]\n\n\n"
             "def get_init_inputs():\n    return []\n");
    rig_expect(1, "$K problems check ./twice.py ./zero.py ./loss.py" CPU);
    rig_shows("2 of 3 problems are fit");
    rig_shows("ok      loss ");
    rig_shows("put aside:\n  zero: zeros");
    rig_expect(0, "$K problems check ./twice.py --json" CPU);
    json_t *j = rig_json();
    json_t *card = json_object_get(j, "card");
    assert_string_equal(rig_get(card, "status"), "ok");
    assert_int_equal(json_array_size(json_object_get(card, "inputs")), 1);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(card, "constants"), "n")),
                     40);
    json_decref(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listing),
        cmocka_unit_test(test_judging),
        cmocka_unit_test(test_words_of_a_candidate),
        cmocka_unit_test(test_an_extension_without_a_gpu),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_the_zygotes_chores),
        cmocka_unit_test(test_relative_paths),
        cmocka_unit_test(test_the_judge_does_not_wait_for_torch),
        cmocka_unit_test(test_doctor_of_a_gpu),
        cmocka_unit_test(test_doctor_of_an_absent_device),
        cmocka_unit_test(test_onboarding),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
