/* One endpoint that fails, and asks to it. */
#ifndef KG_TESTS_ENDPOINT_RIG_H
#define KG_TESTS_ENDPOINT_RIG_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/json.h"
#include "tests/support/faulty_endpoint.h"
#include "trial/policy/policy.h"

#define SECRET "sk-secret-0123456789"

static struct faulty_endpoint server;
static struct kg_err err;

/* Times are those of a test: an answer is late after 0.6 s, and asked for again for 20 s. Silence
 * is longer than any pause of a loaded host that the tests of other faults should survive. */
static inline struct tr_policy_options options(const char *fault)
{
    struct tr_policy_options o;
    tr_policy_defaults(&o);
    o.policy = faulty_endpoint_policy(&server, fault);
    o.model = "tiny";
    o.timeout_s = 20;
    o.patience_s = 4;
    return o;
}

static inline struct tr_policy open_policy(const struct tr_policy_options *o)
{
    struct tr_policy p;
    err = (struct kg_err)KG_ERR_INIT;
    if (tr_policy_open(o, &p, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    return p;
}

static inline void submit(const struct tr_policy *p, uint64_t tag, const char *text)
{
    const struct tr_message m = {.role = TR_USER, .text = text, .len = strlen(text)};
    const struct tr_ask ask = {
        .tag = tag, .message = &m, .n = 1, .seed = 5, .who = {"softmax", 1, (uint32_t)tag}};
    assert_int_equal(p->submit(p->self, &ask, &err), KG_OK);
}

static inline struct tr_reply *take(const struct tr_policy *p)
{
    struct tr_reply *r = NULL;
    while (r == NULL) {
        assert_true(p->pending(p->self) > 0);
        assert_int_equal(p->next(p->self, -1, -1, &r, &err), KG_OK);
    }
    return r;
}

/* One ask of a policy with these options. */
static inline struct tr_reply *ask_with(const struct tr_policy_options *o)
{
    struct tr_policy p = open_policy(o);
    submit(&p, 7, "hello");
    struct tr_reply *r = take(&p);
    assert_int_equal(r->tag, 7);
    assert_int_equal(p.pending(p.self), 0);
    p.close(p.self);
    return r;
}

static inline struct tr_reply *ask(const char *fault)
{
    const struct tr_policy_options o = options(fault);
    return ask_with(&o);
}

/* One ask of each fault [n], n at most 16, side by side: their waits overlap. */
static inline void ask_each(const char *const *faults, size_t n, struct tr_reply **r)
{
    struct tr_policy p[16];
    size_t left = n;
    for (size_t i = 0; i < n; i++) {
        const struct tr_policy_options o = options(faults[i]);
        p[i] = open_policy(&o);
        submit(&p[i], 7, "hello");
        r[i] = NULL;
    }
    while (left > 0) {
        for (size_t i = 0; i < n; i++) {
            if (r[i] == NULL) {
                assert_int_equal(p[i].next(p[i].self, -1, 5, &r[i], &err), KG_OK);
                left -= r[i] != NULL;
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        p[i].close(p[i].self);
    }
}

/* The reply's text, after so many requests. Frees the reply. */
static inline void expect_reply(struct tr_reply *r, const char *fault, const char *text, int tries)
{
    if (r->code != KG_OK) {
        fail_msg("%s: %s", fault, r->err.message);
    }
    assert_string_equal(r->text, text);
    assert_int_equal(r->usage.tries, tries);
    tr_reply_free(r);
}

static inline void expect_text(const char *fault, const char *text, int tries)
{
    expect_reply(ask(fault), fault, text, tries);
}

/* No reply: this code, and these words in its message. */
static inline void expect_error(struct tr_reply *r, enum kg_code code, const char *words, int tries)
{
    if (r->code != code || strstr(r->err.message, words) == NULL) {
        fail_msg("code %d, \"%s\" instead of %d, \"%s\"", r->code, r->err.message, code, words);
    }
    assert_null(strstr(r->err.message, SECRET));
    for (const char *c = r->err.message; *c != '\0'; c++) {
        assert_true((unsigned char)*c >= ' ');
    }
    assert_int_equal(r->usage.tries, tries);
    assert_null(r->text);
    tr_reply_free(r);
}

static inline int start(void **state)
{
    (void)state;
    setenv("OPENAI_API_KEY", SECRET, 1);
    setenv("no_proxy", "*", 1);
    faulty_endpoint_start(&server, false);
    return 0;
}

static inline int stop(void **state)
{
    (void)state;
    faulty_endpoint_end(&server);
    return 0;
}

#endif
