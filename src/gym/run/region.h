/* Regions: the memory that carries inputs to runners and outputs back. The trusted side maps a
 * region writable; runners get a descriptor through which inputs can only be read: a memfd that is
 * sealed against new writable mappings, writes and resizing as soon as the trusted mapping exists,
 * or, with 2 MB pages where the host allows, a file of a tmpfs that no path leads to, opened to
 * read. Create in one process, map in the one that writes (descriptors travel), then hand runner_fd
 * to runners, after kg_region_sealed has said yes where it is read-only. Layout: where each
 * argument of a call lies, with guard zones between. Pure. */
#ifndef KG_GYM_RUN_REGION_H
#define KG_GYM_RUN_REGION_H

#include "base/rng.h"
#include "gym/problem/problem.h"
#include "gym/run/wire.h"

#define KG_GUARD_BYTES 4096 /* at least, before and after every argument */

struct kg_region {
    int fd;        /* trusted: read and write */
    int runner_fd; /* what runners inherit; equals fd for outputs */
    size_t bytes;
    unsigned char *map; /* trusted mapping, read and write; NULL until mapped */
    bool huge;          /* 2 MB pages */
};

/* read_only: runners may never write. Not mapped, and not sealed, until kg_region_map. */
enum kg_code kg_region_create(size_t bytes, bool read_only, struct kg_region *out,
                              struct kg_err *err) KG_MUST_USE;
/* The trusted mapping, in this process: r->fd, r->bytes and r->huge are read, r->map is set.
 * read_only: seals the region for good, so this can be done once. prefault: touch every page. */
enum kg_code kg_region_map(struct kg_region *r, bool read_only, bool prefault,
                           struct kg_err *err) KG_MUST_USE;
/* True once no new writable mapping, write or resizing is possible through runner_fd. */
bool kg_region_sealed(const struct kg_region *r);
void kg_region_destroy(struct kg_region *r);

struct kg_layout {
    uint64_t offset[KG_MAX_ARGS]; /* of in and out arrays, in their region */
    uint64_t bytes[KG_MAX_ARGS];
    uint64_t in_end, out_end; /* first free byte of each region after this call's arrays */
};

#define KG_JITTER_WIDEST (~0ull)

/* wide: f32 arrays hold doubles (the oracle). jitter: 0 = every array 64-byte aligned (default
 * run); else offsets vary with it: odd multiples of the element, aligned to nothing more.
 * KG_JITTER_WIDEST ends where no other jitter of the same shape and base ends later: for sizing.
 * in_base, out_base: where to start, multiples of 8. The zones [base, first array), between arrays
 * and [last array, end) are guards, each of at least KG_GUARD_BYTES. A shape whose arrays do not
 * fit 64 bits plans ends beyond any region. */
void kg_layout_plan(const struct kg_problem *p, const struct kg_shape *s, bool wide,
                    uint64_t jitter, uint64_t in_base, uint64_t out_base, struct kg_layout *out);
/* Words of the call at this layout: addresses for arrays, values for dims and params. */
void kg_layout_call(const struct kg_problem *p, const struct kg_shape *s, const struct kg_layout *l,
                    bool wide, struct kg_wire_call *out);

#endif
