/* tools/kernelbench-wrong.sh and tools/kernelbench-compare.py on a checkout of small problems: with
 * kgym itself on the CPU, and with programs in its place and in that of KernelBench's evaluator,
 * which say what the test wants: a wrong candidate that comes out `ok` fails the run. */
#include "kgym_rig.h"

#define PROBLEM(forward, inputs)                                                                   \
    "import torch\nimport torch.nn as nn\n\n\nclass Model(nn.Module):\n"                           \
    "    def __init__(self):\n        super(Model, self).__init__()\n\n"                           \
    "    def forward(self, x):\n        return " forward "\n\n\n"                                  \
    "def get_inputs():\n    return [" inputs "]\n\n\ndef get_init_inputs():\n    return []\n"

/* In the place of kgym: every line is `wrong`, but for a candidate of the kind $OK, which is `ok`,
 * or an error of $BLAME. The reference as its own candidate is `ok`. With the file `slow` it ends
 * one line and waits. */
static const char fake[] =
    "#!/usr/bin/env python3\n"
    "import json, os, sys, time\n"
    "a = sys.argv\n"
    "lines = [json.loads(t) for t in open(a[a.index('--batch') + 1])]\n"
    "open('calls.txt', 'a').write('%d\\n' % len(lines))\n"
    "def answer(t):\n"
    "    source = t.get('source') or open(t['source_file']).read()\n"
    "    mine = 'class ModelNew(Model)' not in source\n"
    "    is_ok = mine or os.environ.get('OK', 'none') in t['id']\n"
    "    e = None if mine or 'BLAME' not in os.environ else {'code': 'x', 'message': 'm', 'blame': "
    "os.environ['BLAME']}\n"
    "    return json.dumps({'batch_id': t['id'], 'verdict': None if e else 'ok' if is_ok else "
    "'wrong', 'reason': None,\n"
    "        'message': 'm', 'error': e, 'compiled': True, 'evidence': [{'check': 'trials', "
    "'close': [is_ok], 'max_difference': [0 if is_ok else 0.25]}]}) + '\\n'\n"
    "out = a[a.index('--out') + 1]\n"
    "slow = os.path.exists('slow')\n"
    "open(out, 'w').write(''.join(answer(t) for t in lines[:1 if slow else None]))\n"
    "time.sleep(60 if slow else 0)\n";

/* In the place of KernelBench's evaluator, and of torch, of which it needs little. */
static const char evaluator[] =
    "import os, time\n"
    "class Result:\n    pass\n"
    "def get_torch_dtype_from_string(text):\n    return text\n"
    "def eval_kernel_against_ref(reference, candidate, **named):\n"
    "    open('theirs.txt', 'a').write('.')\n"
    "    time.sleep(60 if os.path.exists('slow') and 'class ModelNew(Model)' in candidate else 0)\n"
    "    r = Result()\n"
    "    r.compiled, r.correctness = True, 'class ModelNew(Model)' not in candidate\n"
    "    r.metadata = {'max_difference': ['0.250000']}\n"
    "    return r\n";
static const char torch[] = "class cuda:\n    pass\n\ndef set_num_threads(n):\n    pass\n\n"
                            "def device(name):\n    return name\n";

#define WRONG "$T/tools/kernelbench-wrong.sh kb out --kgym ./fake"
#define COMPARE                                                                                    \
    "PYTHONPATH=stub PYTHONDONTWRITEBYTECODE=1 python3 $T/tools/kernelbench-compare.py kb "        \
    "--work work --kgym ./fake"

static void checkout(void)
{
    rig_expect(0, "rm -rf kb out work slow calls.txt theirs.txt; mkdir -p kb/src/kernelbench stub "
                  "kb/KernelBench/level1 kb/KernelBench/level2 kb/KernelBench/level3");
    rig_text("kb/KernelBench/level1/1_Small.py", PROBLEM("x * 2", "torch.rand(8, 16)"));
    rig_text("kb/KernelBench/level1/2_Mean.py", PROBLEM("x.mean()", "torch.rand(40, 16)"));
    rig_text("kb/KernelBench/level2/1_Large.py", PROBLEM("x + 1", "torch.rand(64, 32)"));
    rig_text("kb/KernelBench/level3/1_Least.py", PROBLEM("x - 1", "torch.rand(2, 32)"));
    rig_text("kb/src/kernelbench/__init__.py", "");
    rig_text("kb/src/kernelbench/eval.py", evaluator);
    rig_text("stub/torch.py", torch);
    rig_text("fake", fake);
    rig_expect(0, "chmod +x fake");
}

static void test_a_wrong_one_that_is_ok_fails(void **state)
{
    (void)state;
    checkout();
    rig_expect(0, WRONG " --problems 1/1,2/1,3/1");
    rig_shows("15 candidates: 15 seen, 0 ok, 0 without a verdict");
    rig_expect(0, WRONG " --problems 1/1,2/1,3/1"); /* all is known */
    rig_expect(0, "test $(wc -l <calls.txt) = 1");
    rig_expect(2, WRONG " --problems 1/1");
    rig_says("name another folder");
    checkout();
    rig_expect(1, "OK='2/1_Large last-row' " WRONG " --problems 1/1,2/1");
    rig_shows("10 candidates: 9 seen, 1 ok, 0 without a verdict");
    /* What says nothing of an answer is asked again, and no success. */
    checkout();
    rig_expect(1, "BLAME=host " WRONG " --problems 1/1 --kinds zeros");
    rig_shows("x/host");
    rig_expect(0, "test $(wc -l <calls.txt) = 2");
    checkout();
    rig_expect(0, "BLAME=problem " WRONG " --problems 1/1 --kinds zeros");
    rig_shows("defect");
}

static void test_pieces_go_on(void **state)
{
    (void)state;
    checkout();
    rig_text("slow", "");
    rig_expect(3, WRONG " --problems 1/1 --seconds 16");
    rig_shows("more is left");
    /* A call that was killed leaves its piece; what it ended counts. */
    checkout();
    rig_text("slow", "");
    rig_run(WRONG " --problems 1/1 & p=$!; until test -s out/first.piece.jsonl; do sleep 0.1; "
                  "done; kill -9 $p; wait $p");
    rig_expect(0, "rm slow; " WRONG " --problems 1/1");
    rig_shows("5 candidates: 5 seen");
    rig_expect(0, "printf '5\\n4\\n' | cmp - calls.txt");
}

/* The largest by what their own code says, and kgym's verdicts about candidates as they are. */
static void test_kgym_itself(void **state)
{
    (void)state;
    checkout();
    if (rig_run("$K eval kb/KernelBench/level1/1_Small.py fake --source --stop-after extract "
                "--device cpu --set cache=none") == 2) {
        rig_says("make torch");
        printf("skip: %s", rig.err.data);
        skip();
    }
    rig_expect(0, "$T/tools/kernelbench-wrong.sh kb out --count 2 --evaluations 2 --kgym $K "
                  "--jobs 1 -- --device cpu --no-stage-timing --set cache=none --set laws=0");
    rig_shows("2/1_Large");
    rig_shows("1/2_Mean");
    rig_shows("12 candidates: 1");
    rig_shows(" 0 ok, 0 without");
}

static void test_evaluators_side_by_side(void **state)
{
    (void)state;
    checkout();
    rig_expect(0, COMPARE " --problems 1/1,2/1,3/1");
    rig_shows("6 of 6 verdicts agree: 3 right, 3 wrong, 0 not compiled");
    rig_shows("the same in 3 of 3");
    rig_expect(0, COMPARE " --problems 1/1,2/1,3/1"); /* all is known */
    rig_expect(0, "test $(wc -c <theirs.txt) = 6 && test $(wc -l <calls.txt) = 1");
    rig_expect(2, COMPARE " --problems 1/1");
    rig_says("name another folder");
    checkout();
    rig_expect(1, "OK='1_Small.zeros' " COMPARE " --problems 1/1,2/1");
    rig_shows("3 of 4 verdicts agree");
    rig_shows("| 1/1_Small.zeros | ok | wrong | ? |");
    /* A call that is killed while that evaluator works; what it has said counts. */
    checkout();
    rig_expect(0, COMPARE " --problems 1/1");
    rig_expect(0, "rm work/theirs.jsonl theirs.txt; touch slow");
    rig_run(COMPARE " --problems 1/1 & p=$!; until test -s work/theirs.jsonl; do sleep 0.1; done; "
                    "kill -9 $p; wait $p");
    rig_expect(3, COMPARE " --problems 1/1 --seconds 10");
    rig_shows("more is left");
    rig_expect(0, "rm slow; test $(wc -l <work/theirs.jsonl) = 1");
    rig_expect(0, COMPARE " --problems 1/1");
    rig_shows("2 of 2 verdicts agree");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wrong_one_that_is_ok_fails),
        cmocka_unit_test(test_pieces_go_on),
        cmocka_unit_test(test_evaluators_side_by_side),
        cmocka_unit_test(test_kgym_itself),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
