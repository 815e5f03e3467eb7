/* Frameworks' own compilers in a candidate, under the default limits: torch.compile by its C++
 * path. Skipped where Python lacks torch. Slow: it reads torch's headers. */
#include "torch_eval_rig.h"

#include "gym/torch/judging/met_limit.h"

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.laws = 0;
    return rig_open();
}

static const json_t *entry(const struct kg_record *r, const char *check)
{
    for (size_t i = 0; i < json_array_size(r->evidence); i++) {
        const json_t *e = json_array_get(r->evidence, i);
        if (strcmp(json_string_value(json_object_get(e, "check")), check) == 0) {
            return e;
        }
    }
    return NULL;
}

static void options_by_words(void **state)
{
    (void)state;
    static const struct {
        const char *text, *option;
    } cases[] = {
        {"OSError: [Errno 27] File too large", "limit.file_mb"},
        {"g++: fatal error: /tmp/x.o: No space left on device", "limit.scratch_mb"},
        {"RuntimeError: can't start new thread", "limit.processes"},
        {"BlockingIOError: [Errno 11] Resource temporarily unavailable", "limit.processes"},
        {"expected ';' before '}' token", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *option = kg_tmet_option(cases[i].text);
        assert_true(cases[i].option ? option && strcmp(option, cases[i].option) == 0 : !option);
    }
}

static void a_limit_that_was_met_is_named(void **state)
{
    (void)state;
    struct kg_record r;
    char text[4096];
    need_torch();
    worker->config.limit_file_mb = 8;
    snprintf(text, sizeof text, "%s        open('/tmp/large', 'wb').write(bytes(9 << 20))\n%s",
             HEAD FORWARD, ANSWER);
    judge("affine.py", text, KG_ST_FULL, &r);
    worker->config.limit_file_mb = config.limit_file_mb;
    assert_int_equal(r.verdict, KG_V_CRASH);
    const json_t *e = entry(&r, "met_limit");
    assert_non_null(e);
    assert_string_equal(json_string_value(json_object_get(e, "option")), "limit.file_mb");
    assert_int_equal(json_integer_value(json_object_get(e, "value")), 8);
    kg_record_deinit(&r);
}

/* Several kernels, several shapes: the compiler's C++ path within the default limits. */
static void torch_compile_works(void **state)
{
    (void)state;
    struct kg_record r;
    char text[4096];
    need_torch();
    snprintf(text, sizeof text,
             "%s        self.run = torch.compile(self.plain)\n\n"
             "    def plain(self, x, z):\n%s\n"
             "    def forward(self, x, z):\n"
             "        return self.run(x, z)\n",
             HEAD INIT, ANSWER);
    judge("affine.py", text, KG_ST_FULL, &r);
    if (r.has_error || r.verdict != KG_V_OK) {
        fail_msg("%s", r.has_error ? r.error.message : r.message);
    }
    assert_null(entry(&r, "met_limit"));
    kg_record_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_by_words),
        cmocka_unit_test(a_limit_that_was_met_is_named),
        cmocka_unit_test(torch_compile_works),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
