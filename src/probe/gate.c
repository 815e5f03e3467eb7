/* Two ends of a call that the host has no part in. Work is held back on the device until the judge
 * releases the command: its stream waits for the word `go` of the control block. And the device
 * itself posts the answer: the stream then writes `done`. It reads and writes both where they lie,
 * in the host's memory. */
#include <dlfcn.h>
#include <unistd.h>

#include "gym/device/cuda_driver.h"
#include "probe/probe_cuda.h"

/* CU_STREAM_WAIT_VALUE_GEQ: (int32_t)(*at - value) >= 0; CU_STREAM_WRITE_VALUE_DEFAULT: who sees
 * the word sees what came before it. */
#define GEQ    0
#define BEHIND 0

static struct kg_cu_gate cu;
static bool asked;
static kg_cu_ptr page; /* that of both words, as the device sees it; 0: it does not */

static uintptr_t page_of(const struct kg_twire *w)
{
    uintptr_t word = (uintptr_t)w + offsetof(struct kg_twire, go);
    return word - word % (uintptr_t)sysconf(_SC_PAGESIZE);
}

static void open_gate(const struct kg_twire *w)
{
#define LOAD(field, symbol, params) *(void **)&cu.field = dlsym(kg_probe_cu.library, #symbol);
    KG_CU_GATE_FUNCTIONS(LOAD)
#undef LOAD
    void *at = (void *)page_of(w); /* NOLINT(performance-no-int-to-ptr) */
    asked = true;
    if (cu.host_register == NULL || cu.stream_wait == NULL || cu.stream_write == NULL ||
        cu.host_register(at, (size_t)sysconf(_SC_PAGESIZE), KG_CU_HOST_MAPPED) != KG_CU_SUCCESS ||
        kg_probe_cu.host_ptr(&page, at, 0) != KG_CU_SUCCESS) {
        page = 0;
    }
}

int kg_probe_cuda_gate(struct kg_twire *w, void *stream, uint32_t number)
{
    if (!asked && kg_probe_cu.library != NULL) {
        open_gate(w);
    }
    kg_cu_ptr go = page + ((uintptr_t)&w->go - page_of(w));
    bool waits = page != 0 && cu.stream_wait(stream, go, number, GEQ) == KG_CU_SUCCESS;
    return waits ? 0 : -1;
}

int kg_probe_cuda_post(struct kg_twire *w, void *stream, uint32_t number)
{
    kg_cu_ptr done = page + ((uintptr_t)&w->done - page_of(w));
    bool posts = page != 0 && cu.stream_write(stream, done, number, BEHIND) == KG_CU_SUCCESS;
    return posts ? 0 : -1;
}
