/* For tests that judge PyTorch candidates on the CPU, in their own process: a worker, a folder of
 * small problems, and what becomes of a candidate. Skips a test, with the reason, where Python has
 * no torch. Everything is static: each test program has its own. Includes cmocka and what it needs.
 */
#ifndef KG_TESTS_UNIT_TORCH_EVAL_RIG_H
#define KG_TESTS_UNIT_TORCH_EVAL_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "gym/batch/batch.h"
#include "gym/torch/executor/torch_worker.h"
#include "gym/torch/torch.h"

/* Parts of sources. FORWARD and ANSWER: a candidate for affine.py. */
#define HEAD                                                                                       \
    "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\nimport os, time\n\n\n"
#define INIT                                                                                       \
    "class ModelNew(nn.Module):\n    def __init__(self, cols):\n        super().__init__()\n"      \
    "        self.weight = nn.Parameter(torch.ones(cols))\n\n"
#define FORWARD INIT "    def forward(self, x, z):\n"
#define ANSWER  "        return torch.relu(x * self.weight) + 2 * z\n"

static struct kg_worker *worker;
static struct kg_config config;
static char folder[64];
static char lacking[480]; /* why nothing can be judged here, "" */

__attribute__((unused)) static const char good[] = HEAD FORWARD ANSWER;

static const struct {
    const char *name, *text;
} rig_problems[] = {
    /* parameters, two inputs */
    {"affine.py",
     "\"\"\"A scaled ReLU and a sum.\"\"\"\n\n" HEAD "rows = 16\ncols = 24\n\n\n"
     "class Model(nn.Module):\n    def __init__(self, cols):\n        super().__init__()\n"
     "        self.weight = nn.Parameter(torch.ones(cols))\n\n"
     "    def forward(self, x, z):\n" ANSWER "\n\n"
     "def get_inputs():\n    return [torch.randn(rows, cols), torch.rand(rows, cols)]\n\n\n"
     "def get_init_inputs():\n    return [cols]\n"},
    /* an index, two outputs */
    {"pair.py",
     HEAD "rows = 8\ncols = 12\n\n\nclass Model(nn.Module):\n    def forward(self, x, index):\n"
          "        y = x[index]\n        return y, y.argmax(dim=1)\n\n\ndef get_inputs():\n"
          "    return [torch.randn(rows, cols), torch.randint(0, rows, (5,))]\n\n\n"
          "def get_init_inputs():\n    return []\n"},
    /* state that a call changes */
    {"running.py",
     HEAD "rows = 64\ncols = 8\n\n\nclass Model(nn.Module):\n    def __init__(self, cols):\n"
          "        super().__init__()\n        self.norm = nn.BatchNorm1d(cols)\n\n"
          "    def forward(self, x):\n        return self.norm(x)\n\n\n"
          "def get_inputs():\n    return [torch.randn(rows, cols)]\n\n\n"
          "def get_init_inputs():\n    return [cols]\n"},
    {"chance.py", HEAD "rows = 32\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n"
                       "        return F.dropout(x, 0.5, training=True)\n\n\n"
                       "def get_inputs():\n    return [torch.randn(rows, 16)]\n\n\n"
                       "def get_init_inputs():\n    return []\n"},
};

/* A file in the folder. */
static inline void put(const char *name, const char *text)
{
    char path[512];
    struct kg_err err = KG_ERR_INIT;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(kg_file_write_atomic(path, text, strlen(text), &err), KG_OK);
}

/* The problem is a name in the folder, len is that of the text. The caller ends the record. */
static inline void judge_task(struct kg_task t, struct kg_record *r)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, t.problem);
    t.problem = path;
    t.len = strlen(t.text);
    kg_record_init(r);
    kg_eval(worker, &t, r);
}

static inline void judge(const char *problem, const char *source, enum kg_stage stop,
                         struct kg_record *r)
{
    judge_task(
        (struct kg_task){
            .problem = problem, .text = source, .source = true, .stop_after = stop, .more = true},
        r);
}

/* Where all these tests judge. $KGYM_PYTHON is the Python where it is named. */
static inline void rig_place(void)
{
    const char *python = getenv("KGYM_PYTHON");
    snprintf(config.python, sizeof config.python, "%s", python != NULL ? python : "");
    snprintf(config.cache, sizeof config.cache, "none");
    snprintf(config.device, sizeof config.device, "cpu");
}

/* First in a setup: what all these tests set. The test may change `config`, then it opens. */
static inline void rig_defaults(void)
{
    kg_opts_defaults(kg_config_options(), &config);
    rig_place();
}

/* Folder, worker, problems, and whether there is a torch. 0 or -1. */
static inline int rig_open(void)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_record r;
    int cpu = -1;
    setenv("KGYM_HOME", getenv("KGYM_BUILD"), 1);
    snprintf(folder, sizeof folder, "/tmp/kgym-torch-XXXXXX");
    if (!mkdtemp(folder) || chmod(folder, 0755) != 0) {
        return -1;
    }
    kg_worker_cores(&cpu, 1);
    if (kg_worker_open(&config, cpu, NULL, &worker, &err) != KG_OK) {
        print_error("%s\n", err.message);
        return -1;
    }
    for (size_t i = 0; i < sizeof rig_problems / sizeof *rig_problems; i++) {
        put(rig_problems[i].name, rig_problems[i].text);
    }
    judge("affine.py", "x = 1\n", KG_ST_EXTRACT, &r);
    if (r.has_error) {
        snprintf(lacking, sizeof lacking, "%s", r.error.message);
    }
    kg_record_deinit(&r);
    return 0;
}

static inline int rig_close(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    kg_worker_close(worker);
    return kg_file_remove_tree(folder, &err) == KG_OK ? 0 : -1;
}

/* A machine that has the project's environment must not skip. */
static inline void need_torch(void)
{
    if (*lacking) {
        assert_true(strstr(lacking, "make torch") != NULL);
        printf("skip: %s\n", lacking);
        skip();
    }
}

/* "ok", "hack/decoy", "error/needs_gpu". */
static inline void seen(const struct kg_record *r, char *out, size_t cap)
{
    snprintf(out, cap, "%s%s%s", r->has_error ? "error" : kg_verdict_name(r->verdict),
             r->has_error || r->reason ? "/" : "",
             r->has_error ? kg_code_name(r->error.code)
             : r->reason  ? r->reason
                          : "");
}

/* A source that is wrong from some call on is found in the timed process: after a few tries, as the
 * laws of calls are drawn. Its twin, which never is, is right. */
static inline void found_while_timed(const char *problem, const char *wrong, const char *twin)
{
    bool found = false;
    *kg_torch_test(worker) = (struct kg_torch_test){.times_anywhere = true};
    worker->config.timing_blocks = worker->config.timing_min_blocks = 1;
    for (int i = 0, done = 0; done < 2; i++, done += found) { /* at first the attack, until found */
        struct kg_record r;
        char got[100];
        judge(problem, found ? twin : wrong, KG_ST_TIMING, &r);
        seen(&r, got, sizeof got);
        bool is_wrong = r.verdict == KG_V_WRONG;
        if (r.has_error || (found && is_wrong) || i > 20) {
            fail_msg("%s (%s)", got, r.has_error ? r.error.message : r.message);
        }
        found = found || is_wrong;
        kg_record_deinit(&r);
    }
    *kg_torch_test(worker) = (struct kg_torch_test){.times_anywhere = false};
}

/* All stages; want as `seen` writes it. */
static inline void expect(const char *problem, const char *source, const char *want,
                          struct kg_record *r)
{
    char got[100];
    judge(problem, source, KG_ST_PROFILE, r);
    seen(r, got, sizeof got);
    if (strcmp(got, want) != 0) {
        fail_msg("%s, not %s (%s)", got, want, r->has_error ? r->error.message : r->message);
    }
}

/* The first of this check; NULL: none. */
static inline const json_t *evidence(const struct kg_record *r, const char *check)
{
    size_t i;
    json_t *e;
    json_array_foreach(r->evidence, i, e)
    {
        if (strcmp(json_string_value(json_object_get(e, "check")), check) == 0) {
            return e;
        }
    }
    return NULL;
}

static inline int64_t number(const json_t *o, const char *key)
{
    assert_non_null(o);
    assert_true(json_is_integer(json_object_get(o, key)));
    return json_integer_value(json_object_get(o, key));
}

#endif
