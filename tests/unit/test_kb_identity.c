/* tools/kernelbench-identity.sh on checkouts of three problems: with kgym itself on the CPU, and
 * with a program in its place that ends lines as the test wants: pieces, kills, what is asked
 * again. */
#include "kgym_rig.h"

#define MODULE(inputs)                                                                             \
    "import torch\nimport torch.nn as nn\n\n\nclass Model(nn.Module):\n"                           \
    "    def __init__(self):\n        super(Model, self).__init__()\n\n"                           \
    "    def forward(self, x):\n        return x * 2\n\n\n"                                        \
    "def get_inputs():\n    " inputs "\n\n\ndef get_init_inputs():\n    return []\n"

/* In the place of kgym: a line of calls.txt for each call. It ends 1/1 with its own speed, 1/2 with
 * half as much again unless it is alone, 2/10 with $LAST. With the file `slow` it ends one line,
 * into the file for what is ahead, and waits. */
static const char fake[] =
    "#!/usr/bin/env python3\n"
    "import json, os, sys, time\n"
    "a = sys.argv\n"
    "lines = [json.loads(t) for t in open(a[a.index('--batch') + 1])]\n"
    "open('calls.txt', 'a').write(' '.join([t['id'] for t in lines] + a[6:]) + '\\n')\n"
    "assert all('class ModelNew(' in t['source'] and 'super(ModelNew,' in t['source'] for t in "
    "lines)\n"
    "def record(i, ratio, verdict='ok', error=None):\n"
    "    return json.dumps({'batch_id': i, 'verdict': None if error else verdict, 'reason': None, "
    "'message': 'm',\n"
    "        'error': error, 'setup_ns': 500000000, 'stages': [{'ns': 1500000000}, {'ns': None}],\n"
    "        'evidence': [{'check': 'device_memory', 'peak_bytes': 7 << 20}], 'environment': "
    "{'device': 'cuda:0'},\n"
    "        'timing': {'status': 'measured', 'why': None},\n"
    "        'speedup': {'ratio': ratio, 'lo': ratio - .005, 'hi': ratio + .005}})\n"
    "def answer(i):\n"
    "    if i == '2/10_C':\n"
    "        w = os.environ.get('LAST', 'ok')\n"
    "        e = {'code': w, 'blame': w, 'message': 'bad ' + w}\n"
    "        return record(i, 1.015) if w == 'ok' else record(i, 1, 'wrong') if w == 'wrong' else "
    "record(i, 1, None, e)\n"
    "    return record(i, 1.5 if i == '1/2_B' and len(lines) > 1 else 1.0)\n"
    "out = a[a.index('--out') + 1]\n"
    "if os.path.exists('slow'):\n"
    "    open(out, 'w').write(record('2/10_C', 1, None, {'code': 'cancelled', 'blame': 'host', "
    "'message': ''}) + '\\n')\n"
    "    open(out + '.ahead', 'w').write(answer(lines[0]['id']) + '\\n' + '{\"batch_id\": ')\n"
    "    time.sleep(60)\n"
    "open(out, 'w').write(''.join(answer(t['id']) + '\\n' for t in lines))\n";

#define RUN "$T/tools/kernelbench-identity.sh kb out --levels 1,2 --kgym ./fake"

static void checkout(void)
{
    rig_expect(0, "rm -rf kb out slow calls.txt; mkdir -p kb/KernelBench/level1 "
                  "kb/KernelBench/level2 bin; chmod +x fake 2>/dev/null; true");
    rig_text("kb/KernelBench/level1/1_A.py", MODULE("return [torch.randn(8, 16)]"));
    rig_text("kb/KernelBench/level1/2_B.py", MODULE("raise ValueError('no inputs')"));
    rig_text("kb/KernelBench/level2/10_C.py", MODULE("return [torch.rand(4, 4)]"));
    rig_text("kb/KernelBench/level2/README.py", "no problem");
    rig_text("fake", fake);
    rig_expect(0, "chmod +x fake");
}

static void test_a_miss_is_asked_once_more_alone(void **state)
{
    (void)state;
    checkout();
    rig_text("bin/nvidia-smi", "#!/bin/sh\nprintf '1000, 40\\n[N/A], 3\\n3000, 60\\n'\nsleep 60\n");
    rig_expect(0, "chmod +x bin/nvidia-smi; PATH=$PWD/bin:$PATH " RUN " --jobs 3 -- --x");
    rig_shows("1/2_B ");
    rig_shows("3 lines: ok 3");
    rig_shows("seconds per evaluation: median 2.0");
    rig_expect(
        0, "printf '1/1_A 1/2_B 2/10_C --jobs 3 --x\\n1/2_B --jobs 1 --x\\n' | cmp - calls.txt");
    rig_expect(0, "test $(jq -r .asked out/results.jsonl | tr -d '\\n') = 121");
    /* All is known: nothing is asked, and the same is said. Other options are another run. */
    rig_expect(0, RUN " -- --x");
    rig_expect(0, "test $(wc -l <calls.txt) = 2");
    rig_expect(2, RUN " -- --y");
    rig_says("name another folder");
    rig_expect(2, RUN " --problems 1/7 -- --x");
    rig_says("no problem 1/7");
}

static void test_what_the_device_did_is_summed_up(void **state)
{
    (void)state;
    checkout();
    rig_text("bin/nvidia-smi", "#!/bin/sh\nprintf '1000, 40\\n[N/A], 3\\n3000, 60\\n'\nsleep 60\n");
    /* Work lasts until the sampler has spoken. */
    rig_expect(0, "chmod +x bin/nvidia-smi; "
                  "sed -i 's|^a = |while not os.path.getsize(\"out/device.csv\"): "
                  "time.sleep(.1)\\na = |' fake; "
                  "PATH=$PWD/bin:$PATH " RUN " --problems 1/1");
    rig_shows("at most 3000 MB taken, busy 50 % of the time");
}

static void test_what_stays_wrong_fails(void **state)
{
    (void)state;
    checkout();
    rig_expect(1, "LAST=wrong " RUN);
    rig_shows("ok 2, wrong 1");
    checkout();
    rig_expect(1, "LAST=host " RUN);
    rig_shows("host/host: bad host");
    checkout();
    rig_expect(0, "LAST=problem " RUN);
    rig_shows("ok 2, defect 1");
}

static void test_pieces_go_on(void **state)
{
    (void)state;
    checkout();
    rig_text("slow", "");
    rig_expect(3, RUN " --seconds 20");
    rig_shows("1 lines: ok 1");
    rig_expect(0, "rm slow");
    rig_expect(0, RUN " --seconds 60");
    rig_shows("3 lines: ok 3");
    rig_expect(0, "head -2 calls.txt | tail -1 | grep -qx '1/2_B 2/10_C'");
    /* A call that was killed leaves its piece; what it ended counts. */
    checkout();
    rig_text("slow", "");
    rig_run(RUN " & p=$!; until test -s out/first.piece.jsonl.ahead; do sleep 0.1; done; "
                "kill -9 $p; wait $p");
    rig_expect(0, "rm slow; test -s out/first.piece.jsonl.ahead");
    rig_expect(0, RUN);
    rig_expect(0, "head -2 calls.txt | tail -1 | grep -q '^1/2_B 2/10_C'");
    /* A kgym that ends without an answer ends the run, too. */
    checkout();
    rig_text("fake", "#!/bin/sh\nexit 2\n");
    rig_expect(2, RUN);
    rig_says("./fake does not start");
    rig_expect(2, "chmod +x fake; " RUN);
    rig_says("kgym ended with 2");
}

static void test_kgym_itself(void **state)
{
    (void)state;
    checkout();
    if (rig_run("$K eval kb/KernelBench/level1/1_A.py fake --source --stop-after extract "
                "--device cpu --set cache=none") == 2) {
        rig_says("make torch");
        printf("skip: %s", rig.err.data);
        skip();
    }
    rig_expect(0, "$T/tools/kernelbench-identity.sh kb out --levels 1,2 --kgym $K --jobs 1 -- "
                  "--device cpu --no-stage-timing --set cache=none");
    rig_shows("3 lines: ok 2, defect 1");
    rig_shows("no inputs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_miss_is_asked_once_more_alone),
        cmocka_unit_test(test_what_the_device_did_is_summed_up),
        cmocka_unit_test(test_what_stays_wrong_fails),
        cmocka_unit_test(test_pieces_go_on),
        cmocka_unit_test(test_kgym_itself),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
