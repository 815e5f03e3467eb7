/* What every feedback text must be, and records with planted canaries: for the tests and the fuzz
 * target of gym/feedback. Header only. */
#ifndef KG_TESTS_SUPPORT_FEEDBACK_H
#define KG_TESTS_SUPPORT_FEEDBACK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/utf8.h"
#include "gym/feedback/feedback.h"

/* NULL, or what is wrong with the text as such: a static string. */
static inline const char *feedback_harmful(const char *s, size_t n)
{
    static const char *const markers[] = {"<|", "|>", "</s>", "<s>", "[INST]", "<think>"};
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        bool ok;
        size_t len = kg_utf8_next(s + i, n - i, &cp, &ok);
        if (!ok) {
            return "invalid UTF-8";
        }
        if (cp != '\n' && !kg_utf8_in_line(cp)) {
            return "a control character";
        }
        if ((cp >= 0x200B && cp <= 0x200F) || (cp >= 0x202A && cp <= 0x202E) || cp >= 0xE0000) {
            return "an invisible character";
        }
        i += len;
    }
    if (strlen(s) != n) {
        return "a NUL";
    }
    for (size_t i = 0; i < sizeof markers / sizeof markers[0]; i++) {
        if (strstr(s, markers[i]) != NULL) {
            return "a chat marker";
        }
    }
    return n > 0 && s[n - 1] == '\n' ? NULL : "no newline at the end";
}

/* Reads the text as Markdown: fences open and close in pairs, no line within is a fence as long,
 * and the request stands outside. NULL if so. */
static inline const char *feedback_unfenced(const char *s)
{
    size_t open = 0;
    const char *last = s;
    for (const char *p = s; *p != '\0';
         p += p[strcspn(p, "\n")] != '\0' ? strcspn(p, "\n") + 1 : 0) {
        size_t blanks = strspn(p, " "), ticks = strspn(p + blanks, "`");
        size_t rest = strcspn(p + blanks + ticks, "\n");
        last = p;
        if (ticks < 3) {
            continue;
        }
        if (open == 0) {
            open = ticks;
        } else if (ticks >= open && rest == 0) {
            open = 0;
        } else if (ticks >= open) {
            return "a line of a listing looks like a fence";
        }
    }
    if (open > 0) {
        return "a fence is not closed";
    }
    return strstr(last, "one code block") != NULL ? NULL : "the request is not the last line";
}

/* Known canaries. Numbers are looked for by their first six digits, whatever stands between. */
#define CANARIES 64
struct canaries {
    char text[CANARIES][64];
    size_t n;
    struct kg_rng rng;
};

static inline const char *canary_add(struct canaries *c, const char *text)
{
    KG_ASSERT(c->n < CANARIES);
    snprintf(c->text[c->n], sizeof c->text[0], "%s", text);
    return c->text[c->n++];
}

static inline const char *canary_word(struct canaries *c)
{
    char word[32];
    snprintf(word, sizeof word, "canary%llxz", (unsigned long long)kg_rng_u64(&c->rng) >> 20);
    return canary_add(c, word);
}

static inline const char *canary_hex(struct canaries *c)
{
    char word[33];
    snprintf(word, sizeof word, "%016llx%016llx", (unsigned long long)kg_rng_u64(&c->rng),
             (unsigned long long)kg_rng_u64(&c->rng));
    return canary_add(c, word);
}

static inline json_int_t canary_int(struct canaries *c)
{
    char word[32];
    json_int_t v = (json_int_t)(100000000 + kg_rng_below(&c->rng, 800000000));
    snprintf(word, sizeof word, "%lld", (long long)v);
    canary_add(c, word);
    return v;
}

static inline double canary_real(struct canaries *c)
{
    return (double)canary_int(c) * 1e-8;
}

static inline json_t *canary_json(struct canaries *c)
{
    return json_string(canary_word(c));
}

/* The canary that the text holds, in one of the forms in which it may be written; NULL: none. */
static inline const char *canary_found(const struct canaries *c, const char *text)
{
    size_t n = strlen(text), used = 0;
    char *joined = calloc(n + 1, 1);
    const char *found = NULL;
    KG_ASSERT(joined != NULL);
    for (size_t i = 0; i < n; i++) {
        if (strchr(".,_' \n", text[i]) == NULL) {
            joined[used++] = text[i];
        }
    }
    for (size_t i = 0; i < c->n && found == NULL; i++) {
        char start[64];
        bool number = strspn(c->text[i], "0123456789") == strlen(c->text[i]);
        snprintf(start, sizeof start, "%.*s", number ? 6 : 12, c->text[i]);
        if (strstr(text, start) != NULL || strstr(joined, start) != NULL) {
            found = c->text[i];
        }
    }
    free(joined);
    return found;
}

#endif
