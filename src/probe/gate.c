/* Holds work back on the device until the judge releases a command: a stream waits for the word
 * `go` of the control block, which the device reads where it lies, in the host's memory. */
#include <dlfcn.h>
#include <unistd.h>

#include "gym/device/cuda_driver.h"
#include "probe/probe_cuda.h"

#define GEQ 0 /* CU_STREAM_WAIT_VALUE_GEQ: (int32_t)(*at - value) >= 0 */

static struct kg_cu_gate cu;
static bool asked;
static kg_cu_ptr page; /* that of the word, as the device sees it; 0: it does not */

static void open_gate(void *at, size_t bytes)
{
#define LOAD(field, symbol, params) *(void **)&cu.field = dlsym(kg_probe_cu.library, #symbol);
    KG_CU_GATE_FUNCTIONS(LOAD)
#undef LOAD
    asked = true;
    if (cu.host_register == NULL || cu.stream_wait == NULL ||
        cu.host_register(at, bytes, KG_CU_HOST_MAPPED) != KG_CU_SUCCESS ||
        kg_probe_cu.host_ptr(&page, at, 0) != KG_CU_SUCCESS) {
        page = 0;
    }
}

int kg_probe_cuda_gate(struct kg_twire *w, void *stream, uint32_t number)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t word = (uintptr_t)w + offsetof(struct kg_twire, go), at = word % bytes;
    if (!asked && kg_probe_cu.library != NULL) {
        open_gate((void *)(word - at), bytes); /* NOLINT(performance-no-int-to-ptr) */
    }
    bool waits = page != 0 && cu.stream_wait(stream, page + at, number, GEQ) == KG_CU_SUCCESS;
    return waits ? 0 : -1;
}
