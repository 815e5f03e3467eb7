/* kgym-runner: the process that holds one candidate (or reference, or null) object. It maps what
 * the broker gave it at fixed addresses, seals itself, loads the object, and then calls one symbol
 * whenever the broker says so. It decides nothing and knows no problem: whatever it reports is a
 * claim. Once the object is loaded, nothing in this process can be relied on, which is why the
 * loop's whole state is one counter and the pages shared with the broker. One thread of its own. */
#ifndef KG_RUNNER_RUNNER_H
#define KG_RUNNER_RUNNER_H

#include "gym/run/wire.h"

#define KG_RUNNER_BOOT_EXIT 3 /* exit status when the runner itself could not start */

typedef void (*kg_entry_fn)(void); /* the true type is known to libffi only */

/* The control page at its fixed address. */
static inline struct kg_wire *kg_runner_wire(void)
{
    return (struct kg_wire *)KG_ADDR_CTRL; // NOLINT(performance-no-int-to-ptr)
}

/* Say why on standard error and exit: only before any candidate code. */
_Noreturn void kg_runner_die(const char *what);
/* Map the control page and both regions where wire.h says, pre-faulted. */
void kg_runner_map(void);
/* Handlers that note a fatal signal in the control page and then die by it. */
void kg_runner_catch_faults(void);
/* Call entry with the words of *c. */
void kg_runner_invoke(kg_entry_fn entry, const struct kg_wire_call *c);
void kg_runner_wait(const _Atomic uint32_t *word, uint32_t while_equal);
void kg_runner_wake(const _Atomic uint32_t *word);

#endif
