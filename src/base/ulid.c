#include "base/ulid.h"

#include "base/clock.h"
#include "base/rng.h"

#include <pthread.h>
#include <string.h>

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/* An id is one number of 128 bits: 48 of time, 80 of chance. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned __int128 last;

static void encode(unsigned __int128 id, char out[KG_ULID_LEN])
{
    for (int i = KG_ULID_LEN - 2; i >= 0; i--) {
        out[i] = digits[(unsigned)id & 31];
        id >>= 5;
    }
    out[KG_ULID_LEN - 1] = '\0';
}

enum kg_code kg_ulid_new(char out[KG_ULID_LEN], struct kg_err *err)
{
    struct kg_key chance;
    enum kg_code code = kg_rng_secret(&chance, err);
    if (code != KG_OK) {
        return code;
    }
    int64_t ms = kg_clock_wall_ms();
    unsigned __int128 time = ms < 0 ? 0 : (uint64_t)ms & 0xFFFFFFFFFFFF;
    unsigned __int128 id =
        time << 80 | (unsigned __int128)(chance.w[0] & 0xFFFF) << 64 | chance.w[1];
    pthread_mutex_lock(&lock);
    /* Same millisecond, or the wall clock went back: a random step up from the last id. Random, so
     * that two children of one process, which share `last`, do not make the same ids. */
    if (id >> 80 <= last >> 80) {
        id = last + 1 + (chance.w[1] >> 16);
    }
    last = id;
    pthread_mutex_unlock(&lock);
    encode(id, out);
    return KG_OK;
}

bool kg_ulid_is(const char *text)
{
    return text != NULL && strlen(text) == KG_ULID_LEN - 1 &&
           strspn(text, digits) == KG_ULID_LEN - 1;
}
