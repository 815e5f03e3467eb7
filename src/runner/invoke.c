/* Calls the entry with a list of words, through libffi. */
#include <ffi.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner/runner.h"

/* An entry has one signature, so one prepared interface is enough. */
static struct {
    uint32_t nargs;
    uint8_t cls[KG_WIRE_ARGS];
    ffi_cif cif;
    ffi_type *type[KG_WIRE_ARGS];
    int ready;
} prepared;

static ffi_type *type_of(uint8_t cls)
{
    switch (cls) {
    case KG_WIRE_PTR:
        return &ffi_type_pointer;
    case KG_WIRE_I32:
        return &ffi_type_sint32;
    case KG_WIRE_F32:
        return &ffi_type_float;
    case KG_WIRE_F64:
        return &ffi_type_double;
    default:
        return &ffi_type_sint64;
    }
}

static void prepare(const struct kg_wire_call *c)
{
    uint32_t n = c->nargs <= KG_WIRE_ARGS ? c->nargs : KG_WIRE_ARGS;
    if (prepared.ready && prepared.nargs == n && memcmp(prepared.cls, c->cls, n) == 0) {
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        prepared.cls[i] = c->cls[i];
        prepared.type[i] = type_of(c->cls[i]);
    }
    prepared.nargs = n;
    if (ffi_prep_cif(&prepared.cif, FFI_DEFAULT_ABI, n, &ffi_type_void, prepared.type) != FFI_OK) {
        _exit(KG_RUNNER_BOOT_EXIT);
    }
    prepared.ready = 1;
}

void kg_runner_invoke(kg_entry_fn entry, const struct kg_wire_call *c)
{
    prepare(c);
    uint64_t word[KG_WIRE_ARGS];
    void *value[KG_WIRE_ARGS];
    for (uint32_t i = 0; i < prepared.nargs; i++) {
        word[i] = c->word[i];
        value[i] = &word[i];
    }
    ffi_call(&prepared.cif, entry, NULL, value);
}

void kg_runner_wait(const _Atomic uint32_t *word, uint32_t while_equal)
{
    syscall(SYS_futex, word, FUTEX_WAIT, while_equal, NULL, NULL, 0);
}

void kg_runner_wake(const _Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}
