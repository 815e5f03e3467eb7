/* Writes and reads names of turns. */
#include "trial/bench/key.h"

#include <stdio.h>
#include <string.h>

void tr_key_write(const char *name, uint32_t sample, uint32_t turn, char out[TR_KEY_BYTES])
{
    int n = snprintf(out, TR_KEY_BYTES, "%.*s/s%u", TR_NAME_BYTES, name, sample);
    if (turn > 0) {
        snprintf(out + n, TR_KEY_BYTES - (size_t)n, "/t%u", turn);
    }
}

/* A number from 1 that ends at `end` and begins behind "/c"; *before: where the slash is. */
static bool number_before(const char *key, size_t end, char c, size_t *before, uint32_t *out)
{
    size_t at = end;
    uint64_t n = 0, unit = 1;
    while (at > 0 && key[at - 1] >= '0' && key[at - 1] <= '9' && end - at < 9) {
        at--;
        n += (uint64_t)(key[at] - '0') * unit;
        unit *= 10;
    }
    if (at == end || at < 3 || key[at] == '0' || key[at - 1] != c || key[at - 2] != '/') {
        return false;
    }
    *before = at - 2;
    *out = (uint32_t)n;
    return true;
}

bool tr_key_read(const char *key, size_t *name_len, uint32_t *sample, uint32_t *turn)
{
    size_t end = strlen(key);
    return (turn == NULL || number_before(key, end, 't', &end, turn)) &&
           number_before(key, end, 's', name_len, sample);
}
