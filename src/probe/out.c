/* The allocator over the upper half of OUT, from which PyTorch's pool of a call takes memory. */
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "gym/device/cuda_driver.h"
#include "probe/blocks.h"
#include "probe/probe_cuda.h"

#define STEP   ((uint64_t)2 << 20) /* a page */
#define CHUNKS 64

struct chunk {
    uint64_t at, bytes; /* 0: unused */
    uint64_t given;     /* bytes that are in use; 0: idle */
    uint64_t asked;
    uint64_t since; /* number of the shuffle before which it was last given out */
};

static struct kg_blocks arena;
static uint64_t arena_from, arena_to, peak; /* peak: largest use since the last shuffle */
static struct chunk chunk[CHUNKS];
static uint64_t outside, shuffles;
static uint64_t back[KG_OUT_PARTS]; /* sizes given back since the last shuffle */
static uint32_t nback;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A random multiple of a page below room. */
static uint64_t anywhere(uint64_t room)
{
    uint64_t r = 0;
    return room >= STEP && getrandom(&r, sizeof r, GRND_NONBLOCK) == sizeof r
               ? r % (room / STEP + 1) * STEP
               : 0;
}

void kg_out_range(uint64_t from, uint64_t to)
{
    pthread_mutex_lock(&lock);
    to = to < kg_probe_mapped.out_bytes ? to : kg_probe_mapped.out_bytes;
    kg_blocks_reset(&arena, from, to);
    arena_from = from;
    arena_to = to > from ? to : from;
    peak = 0;
    nback = 0;
    pthread_mutex_unlock(&lock);
}

void kg_out_used(uint64_t *arena_bytes, uint64_t *outside_bytes)
{
    pthread_mutex_lock(&lock);
    *arena_bytes = arena.used;
    *outside_bytes = outside;
    pthread_mutex_unlock(&lock);
}

/* Frees idle chunks that were last given out before that shuffle. */
static bool drop_idle(uint64_t until)
{
    bool some = false;
    for (struct chunk *c = chunk; c < chunk + CHUNKS; c++) {
        if (c->at != 0 && c->given == 0 && c->since <= until) {
            kg_probe_cu.mem_free(c->at);
            *c = (struct chunk){0};
            some = true;
        }
    }
    return some;
}

/* What was given back, from wherever it was: next time it should all have room in OUT. */
static uint64_t given_back(void)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < nback; i++) {
        sum += back[i];
    }
    return sum;
}

/* Chunks that were not used since the last shuffle are freed. Others are kept, because taking
 * memory from the device costs a call 0.1 ms. */
uint32_t kg_out_shuffle(uint64_t *parts)
{
    pthread_mutex_lock(&lock);
    uint32_t n = nback;
    uint64_t whole = arena_to - arena_from, again = given_back();
    peak = again > peak && again <= whole ? again : peak;
    memcpy(parts, back, n * sizeof *parts);
    arena.origin = arena_from + anywhere(peak < whole ? whole - peak : 0);
    peak = arena.used;
    nback = 0;
    drop_idle(shuffles++);
    pthread_mutex_unlock(&lock);
    return n;
}

/* Extra room for a chunk outside OUT, so that it can lie elsewhere next time. Within some megabytes
 * a kernel's time hardly changes, and large chunks deserve more room. */
static uint64_t slack_of(uint64_t bytes)
{
    return bytes >= 4 * KG_TWIRE_LARGE ? 8 * KG_TWIRE_LARGE
           : bytes >= KG_TWIRE_LARGE   ? 2 * KG_TWIRE_LARGE
                                       : 0;
}

/* The idle chunk that fits best; NULL: none. */
static struct chunk *idle_for(uint64_t bytes)
{
    struct chunk *best = NULL;
    uint64_t slack = slack_of(bytes);
    for (struct chunk *c = chunk; c < chunk + CHUNKS; c++) {
        bool fits = c->at != 0 && c->given == 0 && c->bytes >= bytes && c->bytes - bytes <= slack;
        best = fits && (best == NULL || c->bytes < best->bytes) ? c : best;
    }
    return best;
}

static uint64_t of_device(uint64_t bytes)
{
    uint64_t at = 0;
    int code = kg_probe_cu.mem_alloc(&at, bytes);
    if (code == KG_CU_OUT_OF_MEMORY && drop_idle(UINT64_MAX)) {
        code = kg_probe_cu.mem_alloc(&at, bytes);
    }
    return code == KG_CU_SUCCESS ? at : 0;
}

/* Without room in the table, memory is taken and never reused. */
static uint64_t take_outside(uint64_t bytes)
{
    struct chunk *c = idle_for(bytes);
    for (struct chunk *f = chunk; c == NULL && f < chunk + CHUNKS; f++) {
        if (f->at == 0) {
            uint64_t slack = slack_of(bytes);
            uint64_t at = of_device(bytes + slack);
            slack = at != 0 ? slack : 0;
            at = at != 0 ? at : of_device(bytes);
            *f = (struct chunk){.at = at, .bytes = at != 0 ? bytes + slack : 0};
            c = f;
        }
    }
    if (c == NULL) {
        return of_device(bytes);
    }
    c->asked = bytes;
    c->since = shuffles + 1;
    c->given = c->at != 0 ? c->at + anywhere(c->bytes - bytes) : 0;
    outside += c->at != 0 ? bytes : 0;
    return c->given;
}

static void give_outside(uint64_t where)
{
    for (struct chunk *c = chunk; c < chunk + CHUNKS; c++) {
        if (c->at != 0 && c->given == where) {
            outside -= c->asked;
            c->given = 0;
            return;
        }
    }
    kg_probe_cu.mem_free(where);
}

void *kg_out_alloc(ssize_t bytes, int device, void *stream)
{
    uint64_t at = 0, offset = 0;
    (void)device;
    (void)stream;
    if (bytes <= 0) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    if (kg_blocks_take(&arena, (uint64_t)bytes, &offset)) {
        at = kg_probe_mapped.out + offset;
        peak = arena.used > peak ? arena.used : peak;
    } else if (kg_probe_cu.library != NULL) {
        at = take_outside((uint64_t)bytes);
    }
    pthread_mutex_unlock(&lock);
    return (void *)(uintptr_t)at;
}

void kg_out_free(void *at, ssize_t bytes, int device, void *stream)
{
    uint64_t where = (uint64_t)(uintptr_t)at, out = kg_probe_mapped.out;
    (void)device;
    (void)stream;
    if (at == NULL) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (where >= out && where < out + kg_probe_mapped.out_bytes) {
        kg_blocks_give(&arena, where - out);
    } else {
        give_outside(where);
    }
    if (nback < KG_OUT_PARTS && bytes > 0) {
        back[nback++] = (uint64_t)bytes;
    }
    pthread_mutex_unlock(&lock);
}
