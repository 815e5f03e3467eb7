/* What tests of generated chains share: a pool that judges their candidates, and a tally of the
 * verdicts. Everything is static: each test program has its own. */
#ifndef KG_TESTS_CHAINS_RIG_H
#define KG_TESTS_CHAINS_RIG_H

#include "kgym_rig.h"

#include "gym/kgym.h"
#include "rl/chains/chains.h"

#define CHAINS_QUEUE 4096

static struct kgym_pool *chains_pool;
static struct kgym_error chains_err;
static struct kg_rng chains_rng;
static struct {
    char what[160]; /* for the message of a failure */
    char verdict[24];
} chains_asked[CHAINS_QUEUE];
static int chains_n; /* tasks that were submitted */

static inline int chains_setup(void **state, uint64_t seed)
{
    static const char *const quick[] = {"stage.timing=false"};
    if (rig_setup(state) != 0) {
        return -1;
    }
    const struct kgym_options o = {.size = sizeof o, .settings = quick, .nsettings = 1};
    char program[512];
    snprintf(program, sizeof program, "%s", getenv("K"));
    setenv("KGYM_PROGRAM", program, 1);
    printf("told: seed %llu\n", (unsigned long long)seed); /* run.sh shows it, also on failure */
    kg_rng_init(&chains_rng, (struct kg_key){{seed, 0}}, 0);
    if (kgym_open(&o, &chains_pool, &chains_err) != KGYM_OK) {
        print_error("%s\n", chains_err.message);
        return -1;
    }
    return 0;
}

static inline int chains_teardown(void **state)
{
    kgym_close(chains_pool);
    kg_rng_deinit(&chains_rng);
    return rig_teardown(state);
}

/* Submits a task about the chain; text NULL: the problem itself is checked. want: its verdict. */
static inline void chains_ask(const struct rl_chain *c, const char *text, const char *want,
                              const char *what)
{
    struct kg_buf problem;
    char name[RL_CHAIN_NAME], file[64], tag[16];
    assert_true(chains_n < CHAINS_QUEUE);
    rl_chain_name(c, name);
    snprintf(file, sizeof file, "%s.c", name);
    snprintf(tag, sizeof tag, "%d", chains_n);
    snprintf(chains_asked[chains_n].what, sizeof chains_asked[0].what, "%s, %s", name, what);
    snprintf(chains_asked[chains_n].verdict, sizeof chains_asked[0].verdict, "%s", want);
    kg_buf_init(&problem, RL_CHAIN_BYTES);
    rl_chain_problem(c, &problem);
    const struct kgym_task t = {.size = sizeof t,
                                .kind = text ? KGYM_EVALUATE : KGYM_CHECK,
                                .problem = file,
                                .problem_text = problem.data,
                                .problem_text_len = problem.len,
                                .text = text ? text : "",
                                .text_len = text ? strlen(text) : 0,
                                .source = 1,
                                .tag = tag};
    if (kgym_submit(chains_pool, &t, NULL, &chains_err) != KGYM_OK) {
        fail_msg("%s", chains_err.message);
    }
    chains_n++;
    kg_buf_deinit(&problem);
}

static inline void chains_ask_style(const struct rl_chain *c, struct rl_style s, const char *want)
{
    struct kg_buf text;
    char name[48];
    kg_buf_init(&text, RL_CHAIN_BYTES);
    rl_chain_code(c, s, &text);
    rl_style_name(s, name);
    chains_ask(c, text.data, want, name);
    kg_buf_deinit(&text);
}

/* Takes all results; each must have the verdict that was expected. */
static inline void chains_collect(void)
{
    struct kgym_result *r = NULL;
    int seen = 0, bad = 0;
    while (kgym_next(chains_pool, -1, &r, &chains_err) == KGYM_OK && r) {
        int i = atoi(r->tag);
        const char *verdict = r->verdict ? r->verdict : "none";
        if (strcmp(verdict, chains_asked[i].verdict) != 0) {
            print_error("%s: %s instead of %s (%.300s)\n", chains_asked[i].what, verdict,
                        chains_asked[i].verdict, r->message ? r->message : "");
            bad++;
        }
        seen++;
        kgym_result_free(r);
    }
    int asked = chains_n;
    chains_n = 0;
    assert_int_equal(seen, asked);
    assert_int_equal(bad, 0);
}

static inline struct rl_style chains_any_style(const struct rl_chain *c)
{
    struct rl_style style[RL_STYLES];
    return style[kg_rng_below(&chains_rng, (uint64_t)rl_styles_list(c, style))];
}

#endif
