/* Needs and offers: words. */
#include "svc/offer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LETTERS                                                                                    \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"                               \
    "-_."
enum { DIGITS = 9 };

static bool begins(const char *word, size_t n, const char *with)
{
    size_t k = strlen(with);
    return n > k && memcmp(word, with, k) == 0;
}

static int64_t number_of(const char *word, size_t n, const char *before)
{
    char digits[KG_SVC_WORD_MAX];
    size_t k = strlen(before);
    snprintf(digits, sizeof digits, "%.*s", (int)(n - k), word + k);
    return strtoll(digits, NULL, 10);
}

bool kg_svc_offer_meets(const struct kg_svc_offer *o, const char *word, size_t n)
{
    if (begins(word, n, "memory:")) {
        return o->memory_mb >= number_of(word, n, "memory:");
    }
    if (begins(word, n, "isolation:")) {
        return o->nwords > 0 && o->isolation >= number_of(word, n, "isolation:");
    }
    for (size_t i = 0; i < o->nwords; i++) {
        if (strlen(o->words[i]) == n && memcmp(o->words[i], word, n) == 0) {
            return true;
        }
    }
    return false;
}

size_t kg_svc_needs_next(const char **at, const char **word)
{
    *word = *at + strspn(*at, " ");
    size_t n = strcspn(*word, " ");
    *at = *word + n;
    return n;
}

bool kg_svc_offer_serves(const struct kg_svc_offer *o, const char *needs)
{
    const char *word;
    bool all = o->nwords > 0;
    for (size_t n; all && (n = kg_svc_needs_next(&needs, &word)) > 0;) {
        all = kg_svc_offer_meets(o, word, n);
    }
    return all;
}

static bool is_plain(const char *text)
{
    return text[0] != '\0' && text[strspn(text, LETTERS)] == '\0';
}

static bool is_word(const char *w)
{
    return w != NULL && strlen(w) < KG_SVC_WORD_MAX &&
           is_plain(strncmp(w, "model:", 6) == 0 ? w + 6 : w);
}

bool kg_svc_offer_read(const json_t *j, const char *words[KG_SVC_WORDS_MAX],
                       struct kg_svc_offer *out)
{
    const json_t *list = json_object_get(j, "words");
    const json_t *memory = json_object_get(j, "memory_mb");
    const json_t *isolation = json_object_get(j, "isolation");
    size_t i;
    json_t *v;
    if (json_array_size(list) == 0 || json_array_size(list) > KG_SVC_WORDS_MAX ||
        (memory != NULL && !json_is_integer(memory)) ||
        (isolation != NULL && !json_is_integer(isolation))) {
        return false;
    }
    json_array_foreach(list, i, v)
    {
        words[i] = json_string_value(v);
        if (!is_word(words[i])) {
            return false;
        }
    }
    *out = (struct kg_svc_offer){.words = words,
                                 .nwords = json_array_size(list),
                                 .memory_mb = json_integer_value(memory),
                                 .isolation = (int)json_integer_value(isolation)};
    return true;
}

static bool is_need(const char *w)
{
    if (w == NULL || strlen(w) >= KG_SVC_WORD_MAX) {
        return false;
    }
    const char *number = strncmp(w, "memory:", 7) == 0       ? w + 7
                         : strncmp(w, "isolation:", 10) == 0 ? w + 10
                                                             : NULL;
    if (number != NULL) {
        size_t n = strspn(number, "0123456789");
        return n > 0 && n <= DIGITS && number[n] == '\0';
    }
    return strcmp(w, "cuda") == 0 || strcmp(w, "torch") == 0 || strcmp(w, "cpu") == 0 ||
           (strncmp(w, "model:", 6) == 0 && is_plain(w + 6));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool kg_svc_needs_text(const char *class, const json_t *list, char out[KG_SVC_DEVICE_MAX])
{
    const char *word[KG_SVC_NEEDS_MAX + 1] = {class};
    size_t n = 1, len = 0, i;
    json_t *v;
    if (list != NULL && (!json_is_array(list) || json_array_size(list) > KG_SVC_NEEDS_MAX)) {
        return false;
    }
    json_array_foreach(list, i, v)
    {
        word[n++] = json_string_value(v);
        if (!is_need(word[n - 1])) {
            return false;
        }
    }
    qsort(word, n, sizeof *word, by_text);
    out[0] = '\0';
    for (i = 0; i < n; i++) {
        if (i > 0 && strcmp(word[i], word[i - 1]) == 0) {
            continue;
        }
        int k = snprintf(out + len, KG_SVC_DEVICE_MAX - len, "%s%s", len > 0 ? " " : "", word[i]);
        if (k < 0 || (size_t)k >= KG_SVC_DEVICE_MAX - len) {
            return false;
        }
        len += (size_t)k;
    }
    return true;
}
