/* Why an endpoint gave no reply, from its status and its own words, and whether to ask again. Words
 * of an endpoint are cut, put on one line and rid of control characters and of the key before they
 * go into a message. Nothing here waits or sends. Thread safe. */
#ifndef KG_TRIAL_POLICY_REFUSAL_H
#define KG_TRIAL_POLICY_REFUSAL_H

#include "base/json.h"

struct tr_words {
    char text[240];
    char code[64], param[64]; /* "" */
    int status;               /* that the body names; 0: none */
};
/* The words of an error body: `error.message` and its like; else the text itself, without tags.
 * error: what is parsed already, or NULL. key: never in them; "": none. */
void tr_words_read(const char *body, size_t len, const json_t *error, const char *key,
                   struct tr_words *out);

/* Cuts and cleans text [len] for a message. out [cap] is terminated. */
void tr_words_clean(const char *text, size_t len, const char *key, char *out, size_t cap);

/* The key [len] becomes `[key]` wherever it stands in text [*n], in place. Keys below 8 characters
 * are words such as `none` and stay. The text never grows. */
void tr_key_hide(const char *key, char *text, size_t *n);

enum tr_fate {
    TR_AGAIN, /* asked again after a while */
    TR_FULL,  /* the conversation is too long: KG_E_LIMIT */
    TR_NEVER, /* no ask can succeed: KG_E_USAGE */
};
/* By the status (of HTTP, or in an error within a stream) and the words. */
enum tr_fate tr_refusal_fate(int status, const struct tr_words *w);

/* Seconds of a Retry-After: a number, or a date of HTTP as seconds since 1970 in `date` (-1: it is
 * no date) beside now_s. -1: neither. At least 0, at most a year. */
double tr_retry_after(const char *text, int64_t date, int64_t now_s);
/* Seconds to wait before try `tries` + 1: 0.5 s, doubled with each try, 30 s and a twentieth of the
 * patience at most, of that half to all by (seed, tries). */
double tr_backoff(int tries, uint64_t seed, double patience_s);

#endif
