/* The reports of trials: what is counted against a recount, hostile text, files that are missing,
 * cut off or under way, and the command. */
#include "kgym_rig.h"

#include <math.h>

#include "../support/sample_trial.h"
#include "trial/report/report_page.h"

static const struct sample_trial usual = {.problems = 12, .samples = 4, .turns = 3, .seed = 3};
static const struct sample_trial rounds = {.problems = 1, .samples = 1, .turns = 14, .seed = 5};

static void fresh(const char *folder)
{
    rig_expect(0, "rm -rf %s && mkdir -p %s", folder, folder);
}

static struct tr_report *open_run(const char *folder)
{
    struct kg_err err = KG_ERR_INIT;
    struct tr_report *r = NULL;
    if (tr_report_open(folder, &r, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    return r;
}

static void page_of(struct tr_report *r, struct kg_buf *out)
{
    struct kg_err err = KG_ERR_INIT;
    kg_buf_init(out, 64u << 20);
    assert_int_equal(tr_report_html(r, "a <title>", out, &err), KG_OK);
}

static void everything_is_shown(void **state)
{
    (void)state;
    static const char *const parts[] = {"problems × samples × turns",
                                        "12 × 4 × 3",
                                        "All: 12 problems",
                                        "Level 2: 4 problems",
                                        "fast_p over p",
                                        "best of turns 1 to t",
                                        "pass@k, best of turns",
                                        "speed-up, geometric mean",
                                        "compile_error/syntax",
                                        "placeholder=\"search name",
                                        "href=\"#p0\"",
                                        "id=\"p0\"",
                                        "Hacks",
                                        "hack · replay",
                                        "feedback that it was shown",
                                        "class=\"ins\">+ def kernel_1",
                                        "class=\"del\">- def kernel_0",
                                        "equal lines",
                                        "conversations are not shown whole",
                                        "tiny-32b",
                                        "a GPU"};
    struct kg_buf page;
    fresh("bench");
    sample_bench_write("bench", &usual);
    struct tr_report *r = open_run("bench");
    page_of(r, &page);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strstr(page.data, parts[i]) == NULL) {
            fail_msg("the page lacks `%s`", parts[i]);
        }
    }
    assert_null(strstr(page.data, "This run is not whole"));
    kg_buf_deinit(&page);
    tr_report_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_shown),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
