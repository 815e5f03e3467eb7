/* Looks the parts of a name up in the vocabulary. */
#include <ctype.h>
#include <string.h>

#include "gym/feedback/feedback_parts.h"

#define LONGEST 24 /* bytes of a word */

/* By halves of the text, each time from the beginning of a word. */
static bool is_listed(const char *word)
{
    size_t low = 0, high = strlen(kg_fb_vocabulary), n = strlen(word);
    while (low < high) {
        size_t at = low + (high - low) / 2;
        while (at > low && kg_fb_vocabulary[at - 1] != ' ') {
            at--;
        }
        size_t len = strcspn(kg_fb_vocabulary + at, " ");
        int order = memcmp(word, kg_fb_vocabulary + at, len < n ? len : n);
        if (order == 0 && len == n) {
            return true;
        }
        if (order < 0 || (order == 0 && n < len)) {
            high = at;
        } else {
            low = at + len + 1;
        }
    }
    return false;
}

/* One word in one case: `size`, `Size`, `SIZE`. Others could carry a message in their letters. */
static bool is_known(const char *s, size_t n)
{
    char low[LONGEST + 1];
    size_t capitals = 0;
    if (n == 0 || n > LONGEST) {
        return n == 0;
    }
    for (size_t i = 0; i < n; i++) {
        capitals += isupper((unsigned char)s[i]) != 0;
        low[i] = (char)tolower((unsigned char)s[i]);
    }
    low[n] = '\0';
    bool plain = capitals == 0 || capitals == n || (capitals == 1 && isupper((unsigned char)s[0]));
    return plain && is_listed(low);
}

/* Where the part of a name that begins at s ends: before `_`, or before a new capital, as in
 * RuntimeError and CUDAError. */
static size_t part_of(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n && isupper((unsigned char)s[i])) {
        i++;
    }
    bool all = i == n || s[i] == '_';
    i = i > 1 && !all ? i - 1 : i; /* the last capital begins the next part */
    if (i == 1 || i == 0) {
        while (i < n && s[i] != '_' && !isupper((unsigned char)s[i])) {
            i++;
        }
    }
    return i;
}

bool kg_fb_in_vocabulary(const char *word, size_t len)
{
    for (size_t i = 0; i < len;) {
        if (word[i] == '_') {
            i++;
            continue;
        }
        size_t n = part_of(word + i, len - i);
        if (!is_known(word + i, n)) {
            return false;
        }
        i += n;
    }
    return true;
}
