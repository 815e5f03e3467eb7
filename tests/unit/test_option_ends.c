/* Every number of the option table, at both ends of its range: an evaluation ends in a verdict, or
 * the value is refused before anything is judged. A value that is accepted and then makes an error
 * of each evaluation is neither. */
#include "kgym_rig.h"

#include "gym/eval/config.h"

/* Read by the PyTorch executor or by rewards alone: a C evaluation says nothing of them. */
static bool read_here(const struct kg_opt *o)
{
    static const char *const others[] = {"torch.", "kernelbench.", "reward.", "timing.block",
                                         "library."};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strncmp(o->key, others[i], strlen(others[i])) == 0) {
            return false;
        }
    }
    return o->type == KG_OPT_INT || o->type == KG_OPT_REAL;
}

static void try_value(const struct kg_opt *o, double value)
{
    bool calibrated = strcmp(o->key, "timing.trials") == 0 || strcmp(o->key, "timing.trim") == 0;
    int status = rig_run("$K eval axpby $P/axpby.fast.c --json --set timing.budget=0.1 "
                         "--set multi_input=%s --set timing.method=%s --set %s=%.10g",
                         strcmp(o->key, "laws") == 0 ? "yes" : "no",
                         calibrated ? "calibrated" : "paired", o->key, value);
    if (status == 2 && rig.out.len == 0) {
        rig_says(o->key); /* refused, by name */
        return;
    }
    if (status != 0 && status != 1) {
        fail_msg("%s=%.10g: an evaluation ends with status %d: %.800s", o->key, value, status,
                 rig.err.data);
    }
}

static void an_accepted_value_can_work(void **state)
{
    (void)state;
    const struct kg_opts *all = kg_config_options();
    size_t tried = 0;
    for (size_t i = 0; i < all->n; i++) {
        if (read_here(&all->table[i])) {
            try_value(&all->table[i], all->table[i].lo);
            try_value(&all->table[i], all->table[i].hi);
            tried++;
        }
    }
    assert_true(tried >= 18);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_accepted_value_can_work)};
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
