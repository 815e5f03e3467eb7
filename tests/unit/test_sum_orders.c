/* Honest orders of one sum, judged end to end under fresh seeds: none may be refused, and sums that
 * are wrong must be. bench_sum_orders asks for far more, without compiling. */
#include "kgym_rig.h"

#include "base/buf.h"

#define EVALUATIONS 4

static const char *const orders[] = {"FORWARD", "BACKWARD", "PAIRWISE",
                                     "LANES8",  "LANES16",  "BLOCKED"};

static void append(struct kg_buf *out, const char *path)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf one;
    kg_buf_init(&one, 1u << 20);
    if (kg_file_read(path, &one, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    kg_buf_add(out, one.data, one.len);
    kg_buf_deinit(&one);
}

static void add_lines(struct kg_buf *lines, const char *problem, const char *name)
{
    for (int i = 0; i < EVALUATIONS; i++) {
        kg_buf_addf(lines, "{\"id\": \"%s-%d\", \"problem\": \"%s\", \"source_file\": \"%s.c\"}\n",
                    name, i, problem, name);
    }
}

/* The candidate of a problem in one order, and its lines. */
static void add_order(struct kg_buf *lines, const char *problem, const char *entry,
                      const char *order)
{
    struct kg_buf text;
    char path[1024], name[64], file[80];
    snprintf(name, sizeof name, "%s-%s", entry, order);
    snprintf(file, sizeof file, "%s.c", name);
    kg_buf_init(&text, 1u << 20);
    kg_buf_addf(&text, "#define SUM_%s\n", order);
    snprintf(path, sizeof path, "%s/tests/orders/sum.inc", getenv("T"));
    append(&text, path);
    snprintf(path, sizeof path, "%s/tests/orders/%s.c", getenv("T"), entry);
    append(&text, path);
    rig_file(file, text.data, text.len);
    kg_buf_deinit(&text);
    add_lines(lines, problem, name);
}

static void judge_all(const struct kg_buf *lines, int status)
{
    rig_file("in.jsonl", lines->data, lines->len);
    rig_expect(0, "rm -f out.jsonl");
    rig_expect(status, "$K eval --batch in.jsonl --out out.jsonl --set stage.timing=no");
}

/* Each evaluation asks every law that the problem does not leave out. */
static void every_honest_order_is_right(void **state)
{
    (void)state;
    static const char *const shipped[] = {"row_stats", "cross_entropy", "matmul", "cumsum"};
    struct kg_buf lines;
    char problem[1024];
    kg_buf_init(&lines, 1u << 20);
    snprintf(problem, sizeof problem, "%s/tests/orders/problems/row_sum.c", getenv("T"));
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        for (size_t i = 0; i < sizeof shipped / sizeof *shipped; i++) {
            add_order(&lines, shipped[i], shipped[i], orders[o]);
        }
        add_order(&lines, problem, "row_sum", orders[o]);
    }
    judge_all(&lines, 0);
    rig_expect(0, "jq -r 'select(.verdict != \"ok\") | [.batch_id, .verdict, .reason, .message] | "
                  "@tsv' out.jsonl");
    assert_string_equal(rig.out.data, "");
    kg_buf_deinit(&lines);
}

/* A term left out, a term twice, a sum in half precision: under any order. */
static void wrong_sums_are_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
    } wrong[] = {
        {"short", "y[i] = 0; for (int64_t j = 0; j < cols - (cols > 1); j++) { y[i] += r[j]; }"},
        {"twice", "y[i] = r[0]; for (int64_t j = 0; j < cols; j++) { y[i] += r[j]; }"},
        {"half",
         "float s = 0; for (int64_t j = 0; j < cols; j++) { s = (float)(_Float16)(s + r[j]); } "
         "y[i] = s;"},
        {"narrow",
         "float s = 0; for (int64_t j = 0; j < cols; j++) { s += (float)(_Float16)r[j]; } "
         "y[i] = s;"},
    };
    struct kg_buf lines;
    char problem[1024], text[1024], file[80];
    kg_buf_init(&lines, 1u << 20);
    snprintf(problem, sizeof problem, "%s/tests/orders/problems/row_sum.c", getenv("T"));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(
            text, sizeof text,
            "#include <stdint.h>\nvoid row_sum(const float *x, float *y, int64_t rows, int64_t "
            "cols)\n"
            "{\n    for (int64_t i = 0; i < rows; i++) {\n        const float *r = x + i * cols;\n"
            "        %s\n    }\n}\n",
            wrong[i].text);
        snprintf(file, sizeof file, "%s.c", wrong[i].name);
        rig_text(file, text);
        add_lines(&lines, problem, wrong[i].name);
    }
    judge_all(&lines, 0);
    rig_expect(0, "jq -r 'select(.verdict != \"wrong\") | [.batch_id, .verdict] | @tsv' out.jsonl");
    assert_string_equal(rig.out.data, "");
    kg_buf_deinit(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_honest_order_is_right),
        cmocka_unit_test(wrong_sums_are_wrong),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
