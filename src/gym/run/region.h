/* Regions: the memory that carries inputs to runners and outputs back; and the layout of a call in
 * it.
 *
 * The trusted side maps a region writable. Runners get a descriptor that only reads inputs. It is a
 * memfd, which is sealed against new writable mappings, writes and resizing once the trusted
 * mapping exists. Or it is a file of a tmpfs without a path, with 2 MB pages, opened to read.
 * Create a region in one process, and map it in the process that writes (descriptors travel). Hand
 * runner_fd to runners only after kg_region_sealed is true, where the region is read-only.
 * Layout: where each argument of a call lies, with guards between. The layout functions are
 * pure. */
#ifndef KG_GYM_RUN_REGION_H
#define KG_GYM_RUN_REGION_H

#include "base/rng.h"
#include "gym/problem/problem.h"
#include "gym/run/wire.h"

#define KG_GUARD_BYTES 4096 /* least size of the guard before and after each argument */

struct kg_region {
    int fd;        /* trusted: reads and writes */
    int runner_fd; /* for runners; equals fd for outputs */
    size_t bytes;
    unsigned char *map; /* trusted mapping, read and write; NULL until mapped */
    bool huge;          /* 2 MB pages */
};

/* Creates a region. read_only: runners may never write. kg_region_map maps and seals it. KG_E_HOST:
 * no memory. */
enum kg_code kg_region_create(size_t bytes, bool read_only, struct kg_region *out,
                              struct kg_err *err) KG_MUST_USE;
/* Maps the region in this process: reads r->fd, r->bytes and r->huge, sets r->map. read_only: seals
 * the region, so it can be mapped once only. prefault: touches every page. */
enum kg_code kg_region_map(struct kg_region *r, bool read_only, bool prefault,
                           struct kg_err *err) KG_MUST_USE;
/* True if runner_fd allows no new writable mapping, no write and no resizing. */
bool kg_region_sealed(const struct kg_region *r);
/* Unmaps and closes; may be called twice. */
void kg_region_destroy(struct kg_region *r);

/* Places of one call's arrays. */
struct kg_layout {
    uint64_t offset[KG_MAX_ARGS]; /* of in and out arrays, from the start of their region */
    uint64_t bytes[KG_MAX_ARGS];
    uint64_t in_end, out_end; /* first free byte of each region behind the arrays */
};

/* The jitter whose layout ends last, for sizing. */
#define KG_JITTER_WIDEST (~0ull)

/* Computes the layout of one call.
 *   wide               f32 arrays hold doubles (the oracle)
 *   jitter             0: every array is aligned to 64 bytes. Else offsets vary with it, as odd
 *                      multiples of the element. KG_JITTER_WIDEST ends last of all jitters.
 *   in_base, out_base  where to start in the regions; multiples of 8
 * The zones before, between and behind the arrays are guards of at least KG_GUARD_BYTES. A shape
 * whose arrays exceed 64 bits gets an end beyond any region. */
void kg_layout_plan(const struct kg_problem *p, const struct kg_shape *s, bool wide,
                    uint64_t jitter, uint64_t in_base, uint64_t out_base, struct kg_layout *out);
/* The words of the call: addresses for arrays, values for dims and params. key: the case's. */
void kg_layout_call(const struct kg_problem *p, const struct kg_shape *s, struct kg_key key,
                    const struct kg_layout *l, bool wide, struct kg_wire_call *out);

#endif
