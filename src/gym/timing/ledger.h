/* The ledger of a device's memory, by which processes of one user share it.
 *
 * A page of the ledger is a range of one file, and stands for KG_LEDGER_PAGE bytes of the device.
 * Who holds the kernel's lock on a page may use so much memory. The locks end with their holder,
 * however it ends, so nothing is ever left behind. A holder takes all that it needs at once, while
 * it holds nothing else, so no two wait for each other. Those who wait do so one after the other:
 * a large need is not overtaken for ever by small ones. The file lies beside the timing leases
 * (lease.h). Errors: KG_E_HOST the file cannot be opened or locked, KG_E_CANCELLED *cancel became
 * non-zero, KG_E_LIMIT more is asked than there is. */
#ifndef KG_GYM_TIMING_LEDGER_H
#define KG_GYM_TIMING_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define KG_LEDGER_PAGE  ((uint64_t)64 << 20)
#define KG_LEDGER_PAGES 32768 /* most pages of a device: 2 TB */

struct kg_ledger {
    int fd;        /* -1: closed */
    uint64_t held; /* bytes */
};
#define KG_LEDGER_NONE                                                                             \
    (struct kg_ledger)                                                                             \
    {                                                                                              \
        -1, 0                                                                                      \
    }

enum kg_code kg_ledger_open(const char *device, struct kg_ledger *l,
                            struct kg_err *err) KG_MUST_USE;
void kg_ledger_close(struct kg_ledger *l); /* gives back what is held; may be called twice */
/* Gives back what is held, waits until `bytes` of the first `capacity` bytes are free, and takes
 * them. */
enum kg_code kg_ledger_take(struct kg_ledger *l, uint64_t bytes, uint64_t capacity,
                            const volatile int *cancel, struct kg_err *err) KG_MUST_USE;
/* Makes it so many bytes without waiting. More is not taken before those who wait; less is always
 * had. False: what was held still is. */
bool kg_ledger_try(struct kg_ledger *l, uint64_t bytes, uint64_t capacity);
void kg_ledger_give(struct kg_ledger *l);
bool kg_ledger_is_wanted(const struct kg_ledger *l); /* somebody else waits */
bool kg_ledger_is_held(const struct kg_ledger *l);   /* somebody else has pages */
/* Bytes of the first `capacity` that others hold now. */
uint64_t kg_ledger_others(const struct kg_ledger *l, uint64_t capacity);

#endif
