/* First messages through the public header: the same text as the command's, limits in bytes and in
 * the caller's own tokens, problems by name, path and text, and what goes wrong. */
#include "kgym_rig.h"

#include "gym/kgym.h"

static struct kgym_error err;

static struct kgym_pool *open_pool(void)
{
    const struct kgym_options o = {.size = sizeof o, .program = getenv("K")};
    struct kgym_pool *p = NULL;
    if (kgym_open(&o, &p, &err) != KGYM_OK) {
        fail_msg("%s", err.message);
    }
    return p;
}

static char *prompt(struct kgym_pool *p, const char *problem, const char *text,
                    const struct kgym_text_options *o)
{
    char *out = NULL;
    if (kgym_prompt(p, problem, text, text ? strlen(text) : 0, o, &out, &err) != KGYM_OK) {
        fail_msg("%s: %s", problem, err.message);
    }
    return out;
}

static void expect_command(const char *text, const char *command)
{
    rig_expect(0, "$K prompt %s", command);
    assert_string_equal(text, rig.out.data);
}

static void test_the_text_is_the_commands(void **state)
{
    (void)state;
    static const struct {
        const char *problem, *command;
        struct kgym_text_options o;
    } table[] = {
        {"softmax", "softmax", {.size = sizeof table[0].o}},
        {"softmax", "softmax --style plain", {.size = sizeof table[0].o, .plain = 1}},
        {"01_linear_gelu",
         "01_linear_gelu --language cuda",
         {.size = sizeof table[0].o, .language = "cuda"}},
    };
    struct kgym_pool *p = open_pool();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char *text = prompt(p, table[i].problem, NULL, &table[i].o);
        expect_command(text, table[i].command);
        kgym_free(text);
    }
    char *text = prompt(p, "rows.jsonl#3", NULL, NULL);
    expect_command(text, "rows.jsonl#3");
    kgym_free(text);
    kgym_close(p);
    rig_nothing_left();
}

static void test_a_problem_that_comes_as_text(void **state)
{
    (void)state;
    struct kg_err e = KG_ERR_INIT;
    struct kg_buf source;
    char path[600];
    snprintf(path, sizeof path, "%s/problems/native/softmax.c", getenv("T"));
    kg_buf_init(&source, 1 << 20);
    assert_int_equal(kg_file_read(path, &source, &e), KG_OK);
    struct kgym_pool *p = open_pool();
    char *given = prompt(p, "somewhere/softmax.c", source.data, NULL);
    expect_command(given, "softmax");
    kgym_free(given);
    char *none;
    assert_int_equal(kgym_prompt(p, "bad.c", "int x;\n", 7, NULL, &none, &err), KGYM_E_PROBLEM);
    assert_null(none);
    assert_int_equal(kgym_prompt(p, "..", "int x;\n", 7, NULL, &none, &err), KGYM_E_USAGE);
    kgym_close(p);
    kg_buf_deinit(&source);
    rig_expect(0, "ls tmp");
    assert_int_equal(rig.out.len, 0); /* nothing of it is left */
}

static size_t count(void *user, const char *text, size_t len)
{
    (void)text;
    ++*(int *)user;
    return len / 4;
}

static void test_limits(void **state)
{
    (void)state;
    struct kgym_pool *p = open_pool();
    int asked = 0;
    char *text = prompt(p, "softmax", NULL, NULL), *none;
    int64_t len = (int64_t)strlen(text);
    struct kgym_text_options o = {.size = sizeof o, .limit = len};
    kgym_free(text);
    kgym_free(prompt(p, "softmax", NULL, &o));
    o.limit--;
    assert_int_equal(kgym_prompt(p, "softmax", NULL, 0, &o, &none, &err), KGYM_E_LIMIT);
    assert_null(none);
    o = (struct kgym_text_options){
        .size = sizeof o, .limit = len / 4, .count = count, .user = &asked};
    kgym_free(prompt(p, "softmax", NULL, &o));
    assert_int_equal(asked, 1);
    o.limit--;
    assert_int_equal(kgym_prompt(p, "softmax", NULL, 0, &o, &none, &err), KGYM_E_LIMIT);
    o.limit = 1;
    assert_int_equal(kgym_prompt(p, "softmax", NULL, 0, &o, &none, &err), KGYM_E_USAGE);
    kgym_close(p);
}

static void test_what_goes_wrong(void **state)
{
    (void)state;
    struct kgym_pool *p = open_pool();
    char *none;
    struct kgym_text_options o = {.size = sizeof o, .language = "fortran"};
    assert_int_equal(kgym_prompt(p, "softmaks", NULL, 0, NULL, &none, &err), KGYM_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "did you mean 'softmax'"));
    assert_null(none);
    assert_int_equal(kgym_prompt(p, NULL, NULL, 0, NULL, &none, &err), KGYM_E_USAGE);
    assert_int_equal(kgym_prompt(p, "softmax", NULL, 0, &o, &none, &err), KGYM_E_USAGE);
    o = (struct kgym_text_options){.size = 3};
    assert_int_equal(kgym_prompt(p, "softmax", NULL, 0, &o, &none, &err), KGYM_E_USAGE);
    kgym_free(prompt(p, "softmax", NULL, NULL)); /* the pool lives */
    kgym_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_text_is_the_commands),
        cmocka_unit_test(test_a_problem_that_comes_as_text),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_what_goes_wrong),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
