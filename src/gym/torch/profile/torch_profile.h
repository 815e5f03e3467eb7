/* Whose the device's time is: launch records of a candidate's runner, which are claims, and what
 * follows from them. A claim that its own shape or the judge's window contradicts counts for
 * nothing: coverage is 0 then. Nothing here lowers a time. Pure but for the stage. docs/security.md
 * says what a forged record could gain. */
#ifndef KG_GYM_TORCH_PROFILE_TORCH_PROFILE_H
#define KG_GYM_TORCH_PROFILE_TORCH_PROFILE_H

#include "base/json.h"
#include "gym/torch/torch.h"

#define KG_TPROFILE_ROWS 256
#define KG_TPROFILE_NAME 200 /* bytes of a kernel's name, its end included */

enum kg_towner { KG_TO_UNKNOWN, KG_TO_OWN, KG_TO_LIBRARY, KG_TO_COMPILER, KG_TO_COUNT };
const char *kg_towner_name(enum kg_towner o); /* as the probe writes it: "own", ... */

struct kg_tkernel {
    char name[KG_TPROFILE_NAME]; /* printable */
    enum kg_towner owner;
    int64_t calls, ns;
    bool dead; /* own: the answer is right without it */
    bool idle; /* own: it was not launched when that was asked, so nothing is shown */
};

struct kg_tprofile { /* zeroed: of no call */
    struct kg_tkernel kernel[KG_TPROFILE_ROWS];
    size_t n;
    int64_t memcpy_ns, memset_ns;
    int64_t suppressed, graphs; /* launches */
    int64_t window_ns;          /* of the judge's */
};

/* Add the records of one call, whose window took so long by the judge's clock. NULL, or why they
 * count for nothing: malformed, records missing, more time than the window had. */
const char *kg_tprofile_add(struct kg_tprofile *p, const json_t *reply, int64_t window_ns);
/* Most time first. */
void kg_tprofile_sort(struct kg_tprofile *p);

/* Shares of the device's time, 0..1; all 0 where nothing ran. */
struct kg_tshares {
    double coverage;  /* own, neither dead nor idle */
    double own;       /* own, dead or not */
    double delegated; /* library and compiler */
    double compiler;
    double memory; /* copies and fills */
    int64_t busy_ns;
};
struct kg_tshares kg_tprofile_shares(const struct kg_tprofile *p);
/* Of one kernel. */
double kg_tprofile_share(const struct kg_tprofile *p, const struct kg_tkernel *k);

struct kg_tprofile_case { /* what a verdict is decided from */
    bool left;            /* it leaves its own kernels after a while (phase.h), in two processes */
    bool launched_own;    /* it launched a kernel of its own */
    bool right_without;   /* right though all of its own did nothing, in a process of its own */
    bool defines;         /* its source holds kernels */
    bool forbidden;       /* the league forbids the library */
    double delegated, allowed; /* share, and the most that the league lets pass */
};
/* NULL, or the reason of a `hack`: "phase", "decoy", "fallback", "delegation". The first two hold
 * in every league, the others where the library is forbidden. */
const char *kg_tprofile_reason(const struct kg_tprofile_case *c);

/* A kernel's name without the mangling that `extern "C"` would have spared it: _Z4geluPKf is gelu.
 * Names in namespaces stay. */
void kg_tprofile_plain_name(const char *name, char *out, size_t cap);

/* Does the source hold kernels: does it import Triton or build CUDA? */
bool kg_tprofile_defines(const char *code, size_t len);

/* Which of n own kernels are dead, by asking whether a group is: one by one up to
 * KG_TPROFILE_SINGLY, beyond that by halves. NONE ends the search, and false is returned. */
#define KG_TPROFILE_SINGLY 16
enum kg_tshown {
    KG_TSHOWN_NONE, /* it cannot be told */
    KG_TSHOWN_LIVE, /* the answer is wrong without these */
    KG_TSHOWN_DEAD, /* it is right without all of them */
    KG_TSHOWN_IDLE, /* none of them was launched */
};
bool kg_tprofile_dead(struct kg_tkernel **own, size_t n,
                      enum kg_tshown (*ask)(void *user, struct kg_tkernel *const *group,
                                            size_t size),
                      void *user);

/* Does the reply hold a kernel of its own of one of these names ("*": any)? */
bool kg_tprofile_ran(const json_t *reply, const json_t *names);

#endif
