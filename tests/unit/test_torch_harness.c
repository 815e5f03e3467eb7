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

#include "base/json.h"

#define MOST 16384

/* What a program prints, as JSON. */
static json_t *python_says(const char *program)
{
    static char own[PATH_MAX], command[PATH_MAX + MOST], text[MOST];
    const char *tree = getenv("KGYM_TREE"), *python = getenv("KGYM_PYTHON");
    snprintf(own, sizeof own, "%s/.venv/bin/python", tree ? tree : ".");
    python = python ? python : access(own, X_OK) == 0 ? own : "python3";
    snprintf(command, sizeof command,
             "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='%s/harness' '%s' -c 'import json\n"
             "try:\n import torch\nexcept ImportError:\n print(\"null\"); raise SystemExit\n%s' "
             "2>&1",
             tree ? tree : ".", python, program);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text, f);
    int status = pclose(f);
    struct kg_err err = KG_ERR_INIT;
    json_t *j = NULL;
    bool none = WIFEXITED(status) && WEXITSTATUS(status) == 127;
    if (none || (n >= 4 && memcmp(text, "null", 4) == 0)) {
        printf("skip: no Python with torch\n");
        skip();
    }
    if (kg_json_parse(text, n, "python", &j, &err) != KG_OK) {
        fail_msg("%s\n%.*s", err.message, (int)n, text);
    }
    return j;
}

static void expect(const char *program, const char *want)
{
    struct kg_err err = KG_ERR_INIT;
    json_t *told = python_says(program), *wanted = NULL;
    assert_int_equal(kg_json_parse(want, strlen(want), "test", &wanted, &err), KG_OK);
    if (!json_equal(told, wanted)) {
        char *text = json_dumps(told, JSON_COMPACT);
        fail_msg("%s, not %s", text, want);
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
           "from kgym_harness import tensors, wire\n"
           "memory = (ctypes.c_char * (1 << 20))()\n"
           "out = tensors.Region(ctypes.addressof(memory), 1 << 20, torch.device(\"cpu\"))\n"
           "y = out.view(torch.float32, (100, 1024), 1 << 19, 400 << 10)\n"
           "told = []\n"
           "for parts in ([y, y], [y, y[50:], y[:50]], [y, y, y], [y.t(), y, y]):\n"
           "    leaves = (wire.Leaf * 256)()\n"
           "    try:\n"
           "        n = tensors.put(out, leaves, [(str(i), t) for i, t in enumerate(parts)])\n"
           "        told.append([leaf.copied for leaf in leaves[:n]])\n"
           "    except tensors.TooLarge as error:\n"
           "        told.append(\"region\" in str(error))\n"
           "print(json.dumps(told))\n",
           "[[0, 0], [0, 0, 0], true, true]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_that_share_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
