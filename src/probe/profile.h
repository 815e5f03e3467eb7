/* Launch records of one runner: which kernels ran in the marked windows, for how long, and whose
 * they are; and a runner whose own kernels of some names do nothing, to see whether they matter.
 * Through CUPTI, of the library that torch has mapped. Called through ctypes by
 * kgym_harness.profile.
 *
 * Runs in the candidate's process: everything here is a claim
 * (src/gym/torch/profile/torch_profile.h checks what can be checked). A launch is attributed by
 * where it comes from, never by its name: the first object above the driver and the CUDA runtime in
 * the call stack. Triton's launchers are everybody's; the label of the thread, set round Triton's
 * own `run`, says for whose source they run.
 *
 * Suppressing: a launch callback may change the launch's parameters; the kernel is replaced by an
 * empty one of a single thread, on the same stream. That holds for whatever reaches the driver's
 * launch functions: Triton, the CUDA runtime (shared or static), NVRTC, and nodes that a capture
 * makes. It does not reach graphs that were captured earlier, graph nodes that are added by hand
 * (cuGraphAddKernelNode), nor launches from device code.
 *
 * One per process, never undone. Not thread safe but for the callbacks, which have a lock. */
#ifndef KG_PROBE_PROFILE_H
#define KG_PROBE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/probe.h"

enum kg_prof_class { /* whose a kernel is; names are on the wire */
                     KG_PROF_UNKNOWN,
                     KG_PROF_OWN,      /* written by the candidate */
                     KG_PROF_LIBRARY,  /* torch, cuBLAS, ... */
                     KG_PROF_COMPILER, /* a framework's compiler wrote it */
                     KG_PROF_CLASSES
};
/* A label beside the classes: text of the candidate's, compiled and launched by torch's jiterator.
 */
#define KG_PROF_JITTED   KG_PROF_CLASSES
#define KG_PROF_ROWS     256   /* distinct kernels of a table */
#define KG_PROF_LAUNCHES 16384 /* launches, graph nodes and records, each */
#define KG_PROF_NAMES    64    /* suppressed at once */
#define KG_PROF_NAME     200   /* bytes of a name, its end included; longer ones are cut */
#define KG_PROF_LOADERS  16    /* objects that load modules; the last row is all others' */
#define KG_PROF_BASE     64    /* bytes of such an object's base name, its end included */

/* --- the probe's functions --- */

/* Bind and subscribe, in a process that has a context. library: folders, ':' between, whose objects
 * are nobody's own. 0, or -1: kg_prof_error() says why. */
KG_PROBE_API int kg_prof_open(const char *library);
KG_PROBE_API const char *kg_prof_error(void);
/* One more folder that a framework's compiler writes to. Those that there is no room for are not
 * kept. */
KG_PROBE_API void kg_prof_compiled(const char *folder);
/* What this thread's Triton launches are from now on (enum kg_prof_class), or KG_PROF_JITTED;
 * returns what they were. */
KG_PROBE_API int kg_prof_label(int label);
/* Launches of own kernels of this name do nothing from now on; NULL: all are as they were; "*": of
 * any name. -1: too many. */
KG_PROBE_API int kg_prof_suppress(const char *name);
/* A window: launches in between are counted, and what runs in between, with the device at rest at
 * both ends. */
KG_PROBE_API void kg_prof_begin(void);
KG_PROBE_API void kg_prof_end(void);
/* What the windows since the last call held, as JSON, into out; forgets it. Bytes, or -1: it does
 * not fit.
 *   {kernels: [{name, class, calls, ns}], modules: [{by, class, loaded, bytes}], memcpy_ns,
 *    memset_ns, span_ns, dropped, missing, suppressed, graphs}
 * ns: of time in which several ran, the one that began first has it, so the sum is the time in
 * which anything ran. dropped: records lost; missing: launches without a record; suppressed:
 * launches that did nothing; graphs: launches of graphs with a kernel of its own. modules: of code
 * that was loaded since kg_prof_open(), by the base name of the object that had it loaded (which a
 * driver that loads when it must does at the first launch); these are not forgotten. */
KG_PROBE_API long kg_prof_take(char *out, size_t cap);

/* --- cupti_who.c: whose a launch is; pure, but for what it knows of loaded objects --- */

/* object: path of the first object above driver and runtime, "" for memory that is none's. library,
 * compiled: folders, ':' between, of what nobody wrote and of what a compiler did. label: an enum
 * kg_prof_class or KG_PROF_JITTED. */
KG_PROBE_API enum kg_prof_class kg_prof_class_of(const char *object, const char *library,
                                                 const char *compiled, int label);
/* Is this object between the launch and its caller (the driver, CUPTI, the shared runtime, us)? */
bool kg_prof_between(const char *object);
/* From the call stack of a callback. by: its object's base name, "" unknown; may be NULL. */
enum kg_prof_class kg_prof_caller(const char *library, const char *compiled, int label,
                                  char by[KG_PROF_BASE]);

/* --- cupti_table.c: the bookkeeping --- */

struct kg_prof_row {
    char name[KG_PROF_NAME];
    enum kg_prof_class whose;
    uint64_t calls, ns;
};
struct kg_prof_seen { /* a launch by its correlation, or a graph's node by its id */
    uint64_t id;
    uint32_t row;
    bool found; /* it has a record, or wants none */
};
struct kg_prof_span {
    uint64_t start, end;
    uint64_t id; /* correlation, or node where node is set */
    uint32_t kind;
    bool node;
};
struct kg_prof_table { /* zeroed: empty */
    struct kg_prof_row row[KG_PROF_ROWS];
    uint32_t nrows;
    struct kg_prof_seen launch[KG_PROF_LAUNCHES], node[KG_PROF_LAUNCHES];
    uint32_t nlaunches, nnodes;
    struct kg_prof_span span[KG_PROF_LAUNCHES];
    uint32_t nspans;
    struct {
        uint64_t from, to;
    } window[64];
    uint32_t nwindows;
    uint64_t dropped, suppressed, graphs;
    struct {
        char by[KG_PROF_BASE];
        enum kg_prof_class whose;
        uint64_t loaded, bytes;
    } loader[KG_PROF_LOADERS];
    uint32_t nloaders;
};

/* A name as rows, JSON and kg_prof_suppress have it: cut, and '?' for what is not plain text. */
void kg_prof_plain(const char *name, char out[KG_PROF_NAME]);
/* A kernel by name and class; KG_PROF_ROWS where there is no room. */
uint32_t kg_prof_row_of(struct kg_prof_table *t, const char *name, enum kg_prof_class whose);
void kg_prof_launched(struct kg_prof_table *t, uint32_t correlation, uint32_t row);
/* It went into a graph that is being captured: there will be no record of it, but of the node. */
void kg_prof_captured(struct kg_prof_table *t, uint32_t correlation, uint32_t row, uint64_t node);
void kg_prof_cloned(struct kg_prof_table *t, uint64_t from, uint64_t to);
/* A record; name: of a kernel. */
void kg_prof_ran(struct kg_prof_table *t, uint32_t kind, uint64_t start, uint64_t end,
                 uint32_t correlation, uint64_t node);
void kg_prof_loaded(struct kg_prof_table *t, const char *by, enum kg_prof_class whose,
                    uint64_t bytes);
long kg_prof_print(struct kg_prof_table *t, char *out, size_t cap);
/* Forget windows and what was in them; graph nodes stay known. */
void kg_prof_forget(struct kg_prof_table *t);

#endif
