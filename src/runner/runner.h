/* kgym-runner: the process that holds one object: of a candidate, a reference, an oracle, or the
 * null runner.
 *
 * It maps what the broker gave it at fixed addresses, seals itself, loads the object, and then
 * calls one symbol whenever the broker says so. It decides nothing and knows no problem; everything
 * that it reports is a claim. Once the object is loaded, nothing in this process can be relied on.
 * So the loop's whole state is one counter, and the pages shared with the broker. It has one thread
 * of its own. */
#ifndef KG_RUNNER_RUNNER_H
#define KG_RUNNER_RUNNER_H

#include "gym/run/wire.h"

#define KG_RUNNER_BOOT_EXIT 3 /* exit status when the runner itself could not start */

typedef void (*kg_entry_fn)(void); /* only libffi knows the true type */

/* The control block at its fixed address. */
static inline struct kg_wire *kg_runner_wire(void)
{
    return (struct kg_wire *)KG_ADDR_CTRL; // NOLINT(performance-no-int-to-ptr)
}

/* Prints the reason on standard error and exits; only before any candidate code. */
_Noreturn void kg_runner_die(const char *what);
/* Maps the control block and both regions where wire.h says, and touches all pages. */
void kg_runner_map(void);
/* Installs handlers that note a fatal signal in the control block, and then die by it. */
void kg_runner_catch_faults(void);
/* Calls entry with the words of *c. */
void kg_runner_invoke(kg_entry_fn entry, const struct kg_wire_call *c);
/* Waits while *word equals while_equal; wakes those that wait. */
void kg_runner_wait(const _Atomic uint32_t *word, uint32_t while_equal);
void kg_runner_wake(const _Atomic uint32_t *word);

#endif
