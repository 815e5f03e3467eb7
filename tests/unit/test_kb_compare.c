/* tools/kernelbench-compare.py beside no evaluator at all: what it takes for agreement, which
 * differences it explains, its table, and that one without an explanation fails. */
#include "kgym_rig.h"

static const char script[] =
    "import importlib.util, os, sys\n"
    "sys.path.insert(0, os.environ['T'] + '/tools')\n"
    "spec = importlib.util.spec_from_file_location('c', os.environ['T'] + "
    "'/tools/kernelbench-compare.py')\n"
    "c = importlib.util.module_from_spec(spec)\n"
    "spec.loader.exec_module(c)\n"
    "def record(verdict, reason=None, close=(), most=(), compiled=True, error=None):\n"
    "    return {'verdict': verdict, 'reason': reason, 'compiled': compiled, 'error': error and "
    "{'code': error},\n"
    "            'evidence': [{'check': 'static'}, {'check': 'trials', 'close': close, "
    "'max_difference': most}]}\n"
    "def result(compiled, correct, **metadata):\n"
    "    return {'compiled': compiled, 'correctness': correct, 'metadata': metadata}\n"
    "right = (c.ours(record('ok', None, [True] * 2, [0.0, 1e-5])), c.theirs(result(True, True)))\n"
    "assert right[0] == ('ok', 'ok', None) and right[1][0] == 'ok' and c.agree(*right)\n"
    "wrong = (c.ours(record('wrong', 'value', [True, False], [1e-6, 0.25])),\n"
    "         c.theirs(result(True, False, max_difference=['0.250000'])))\n"
    "assert wrong[0] == ('wrong', 'wrong/value', [0.25]) and c.agree(*wrong)\n"
    "assert c.same_numbers(wrong[0][2], wrong[1][2]) is True\n"
    "assert c.same_numbers([0.25], ['0.250001']) is False\n"
    "assert c.same_numbers([None], ['nan']) is True and c.same_numbers(None, ['1']) is None\n"
    "unbuilt = (c.ours(record('compile_error', 'syntax', compiled=False)),\n"
    "           c.theirs(result(False, False, compilation_error='x')))\n"
    "assert c.agree(*unbuilt) and unbuilt[0][0] == 'compile'\n"
    "several = (right[0], c.theirs(result(True, False, runtime_error=\"'tuple' object has no "
    "attribute "
    "'shape'\")))\n"
    "cast = (c.ours(record(None, error='problem')), c.theirs(result(True, False, runtime_error='no "
    "index')))\n"
    "died = (right[0], c.theirs({'raised': 'its process ended'}))\n"
    "retry = (wrong[0], c.theirs(None))\n"
    "full = (right[0], c.theirs(result(True, False, runtime_error='CUDA out of memory. Tried')))\n"
    "for pair, word in ((several, 'several tensors'), (cast, 'cast'), (died, 'its process "
    "ended'),\n"
    "                   (retry, 'no result'), (full, 'CUDA out of memory')):\n"
    "    assert not c.agree(*pair) and word in c.explain(*pair), pair\n"
    "assert not c.agree(('error', 'host', None), ('error', 'x', None))\n"
    "strange = (right[0], wrong[1])\n"
    "assert c.explain(*strange) is None\n"
    "assert c.explain(wrong[0], right[1]) is None\n"
    "lines, n = c.table([('a',) + right, ('b',) + wrong, ('c|d',) + several])\n"
    "assert n == 0 and lines[0] == '2 of 3 verdicts agree: 1 right, 1 wrong, 0 not compiled'\n"
    "assert lines[1].endswith('the same in 1 of 1') and lines[-1].startswith('| c d | ok | wrong: "
    "')\n"
    "lines, n = c.table([('a',) + strange])\n"
    "assert n == 1 and lines[-1].endswith('| ? |')\n";

static void test_what_is_pure(void **state)
{
    (void)state;
    rig_text("pure.py", script);
    rig_expect(0, "PYTHONDONTWRITEBYTECODE=1 python3 pure.py");
    rig_expect(2, "python3 $T/tools/kernelbench-compare.py . softmax");
    rig_says("no src/kernelbench/eval.py in it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_pure),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
