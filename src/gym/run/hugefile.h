/* Private to run/: files of a tmpfs with 2 MB pages that is mounted nowhere, so that no path leads
 * to them. Needs the right to mount (CAP_SYS_ADMIN); where it is lacking, callers use a memfd. */
#ifndef KG_GYM_RUN_HUGEFILE_H
#define KG_GYM_RUN_HUGEFILE_H

#include <stdbool.h>
#include <stddef.h>

/* A file of this size without a name. *ro: a second descriptor of it that can only read. False:
 * not to be had here. */
bool kg_hugefile_open(size_t bytes, int *rw, int *ro);

#endif
