/* Private to run/: files with 2 MB pages, in a tmpfs that is mounted nowhere, so that no path leads
 * to them. Mounting needs CAP_SYS_ADMIN; without it, callers use a memfd. */
#ifndef KG_GYM_RUN_HUGEFILE_H
#define KG_GYM_RUN_HUGEFILE_H

#include <stdbool.h>
#include <stddef.h>

/* Opens a new file of this size. *rw, *ro: two descriptors, to write and to read; the caller closes
 * them. False: this host does not allow it. */
bool kg_hugefile_open(size_t bytes, int *rw, int *ro);

#endif
