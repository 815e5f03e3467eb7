/* For tests of onboarding: problems in a line, and what their check has found. Includes the rig of
 * evaluations. */
#ifndef KG_TESTS_UNIT_ONBOARD_RIG_H
#define KG_TESTS_UNIT_ONBOARD_RIG_H

#include "gym/eval/onboard.h"
#include "torch_eval_rig.h"

#define ONE  "class Model(nn.Module):\n    def forward(self, x):\n"
#define TWO  "class Model(nn.Module):\n    def forward(self, x, i):\n"
#define TAIL "\n\ndef get_init_inputs():\n    return []\n"
/* "return [...]" of get_inputs */
#define DRAW(list) "\n\ndef get_inputs():\n    return [" list "]\n" TAIL

/* What the check of a problem has found: "" fit, else its reasons with a space after each. */
static inline void reasons(const char *text, char *out, size_t cap)
{
    struct kg_onboard o;
    struct kg_err err = KG_ERR_INIT;
    char path[512];
    put("p.py", text);
    snprintf(path, sizeof path, "%s/p.py", folder);
    if (kg_onboard(worker, path, &o, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    size_t n = 0;
    out[0] = 0;
    for (int i = 0; i < o.n; i++) {
        if (!o.check[i].pass) {
            print_message("%s: %s\n", o.check[i].name, o.check[i].detail);
            n += (size_t)snprintf(out + n, n < cap ? cap - n : 0, "%s ", o.check[i].name);
        }
    }
    assert_true(o.pass == (n == 0));
    kg_onboard_deinit(&o);
}

static inline void expect_reasons(const char *text, const char *want)
{
    char got[600];
    reasons(text, got, sizeof got);
    if (strcmp(got, want) != 0) {
        fail_msg("put aside for `%s`, not `%s`:\n%s", got, want, text);
    }
}

static inline int onboard_setup(void **state)
{
    (void)state;
    rig_defaults();
    return rig_open();
}

#endif
