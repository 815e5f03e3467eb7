/* Judges three replies to the problem `silu` and prints verdicts and rewards.
 *   cc submit.c -o submit $(pkg-config --cflags --libs kgym)
 *   ./submit [key=value ...]        settings, such as stage.timing=false (docs/options.md) */
#include <stdio.h>
#include <string.h>

#include <kgym.h>

#define ANSWER(body)                                                                               \
    "Here is my kernel:\n\n```c\n#include <math.h>\n#include <stdint.h>\n\n"                       \
    "void silu(const float *x, float *y, int64_t n)\n{\n"                                          \
    "    for (int64_t i = 0; i < n; i++) {\n        " body "\n    }\n}\n```\n"

static const struct {
    const char *tag, *reply;
} tries[] = {
    {"right", ANSWER("y[i] = x[i] / (1 + expf(-x[i]));")},
    {"wrong", ANSWER("y[i] = x[i] > 0 ? x[i] : 0; /* relu */")},
    {"no code", "I would divide x by one plus exp(-x)."},
};

static int failed(const struct kgym_error *err)
{
    fprintf(stderr, "submit: %s\n", err->message);
    return 2;
}

int main(int argc, char **argv)
{
    struct kgym_pool *pool;
    struct kgym_result *r;
    struct kgym_error err;
    struct kgym_options options = {.size = sizeof options,
                                   .settings = (const char *const *)argv + 1,
                                   .nsettings = (size_t)argc - 1};
    if (kgym_open(&options, &pool, &err) != KGYM_OK) {
        return failed(&err);
    }
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        struct kgym_task task = {.size = sizeof task,
                                 .problem = "silu",
                                 .text = tries[i].reply,
                                 .text_len = strlen(tries[i].reply),
                                 .tag = tries[i].tag};
        if (kgym_submit(pool, &task, NULL, &err) != KGYM_OK) {
            return failed(&err);
        }
    }
    while (kgym_next(pool, -1, &r, &err) == KGYM_OK && r) {
        printf("%-8s %-8s %s\n", r->tag, r->verdict ? r->verdict : "error", r->message);
        for (size_t i = 0; i < r->nrewards; i++) {
            printf("%-8s reward %s %g\n", "", r->rewards[i].name, r->rewards[i].value);
        }
        kgym_result_free(r);
    }
    kgym_close(pool);
    return err.code == KGYM_OK ? 0 : failed(&err);
}
