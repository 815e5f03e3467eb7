/* Launch records of one runner: which kernels ran in the marked windows, for how long, and whose
 * they are. It can also replace a runner's own kernels by empty ones, to see whether they matter.
 * It uses the CUPTI that torch has loaded; kgym_harness.profile calls it through ctypes.
 *
 * It runs in the candidate's process, so everything here is a claim
 * (src/gym/torch/profile/torch_profile.h checks what can be checked). A launch is attributed by
 * where it comes from, never by its name: the first object above the driver and the CUDA runtime in
 * the call stack. All sources share Triton's launchers, so a label of the thread, set around
 * Triton's own `run`, says whose source runs.
 *
 * Suppressing: a launch callback may change the launch's parameters. The kernel is replaced by an
 * empty one of a single thread, on the same stream. This works for everything that reaches the
 * driver's launch functions: Triton, the CUDA runtime (shared or static), NVRTC, and nodes of a
 * capture. It does not work for graphs captured before, graph nodes added by hand
 * (cuGraphAddKernelNode), and launches from device code.
 *
 * One per process, never undone. Not thread safe but for the callbacks, which have a lock. */
#ifndef KG_PROBE_PROFILE_H
#define KG_PROBE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/probe.h"

enum kg_prof_class { /* whose a kernel is; the names are on the wire */
                     KG_PROF_UNKNOWN,
                     KG_PROF_OWN,      /* written by the candidate */
                     KG_PROF_LIBRARY,  /* torch, cuBLAS, ... */
                     KG_PROF_COMPILER, /* written by a framework's compiler */
                     KG_PROF_CLASSES
};
/* A label beside the classes: text of the candidate, compiled and launched by torch's jiterator. */
#define KG_PROF_JITTED   KG_PROF_CLASSES
#define KG_PROF_ROWS     256   /* distinct kernels of a table */
#define KG_PROF_LAUNCHES 16384 /* most launches, graph nodes and records, each */
#define KG_PROF_NAMES    64    /* most names suppressed at once */
#define KG_PROF_NAME     200   /* bytes of a name with its end; longer names are cut */
#define KG_PROF_LOADERS  16    /* objects that load modules; the last row is for all others */
#define KG_PROF_BASE     64    /* bytes of such an object's base name, with its end */

/* The probe's functions. */

/* Loads CUPTI and subscribes, in a process that has a context. library: folders, separated by ':',
 * whose objects are libraries. Returns 0, or -1: see kg_prof_error(). */
KG_PROBE_API int kg_prof_open(const char *library);
KG_PROBE_API const char *kg_prof_error(void);
/* Adds a folder that a framework's compiler writes to. Beyond the room for folders it is
 * ignored. */
KG_PROBE_API void kg_prof_compiled(const char *folder);
/* Sets the label of this thread's Triton launches from now on (enum kg_prof_class, or
 * KG_PROF_JITTED); returns the old label. */
KG_PROBE_API int kg_prof_label(int label);
/* From now on, launches of own kernels of this name do nothing; "*": of any name. NULL: all work
 * again. -1: too many names. */
KG_PROBE_API int kg_prof_suppress(const char *name);
/* Marks a window. Launches in it are counted, and so is what runs in it; the device is idle at both
 * ends. */
KG_PROBE_API void kg_prof_begin(void);
KG_PROBE_API void kg_prof_end(void);
/* Writes what the windows since the last call held, as JSON, and forgets it. Returns its bytes, or
 * -1: it does not fit.
 *   {kernels: [{name, class, calls, ns}], modules: [{by, class, loaded, bytes}], memcpy_ns,
 *    memset_ns, span_ns, dropped, missing, suppressed, graphs}
 * ns: where several kernels ran at once, the time counts for the one that began first. So the sum
 * is the time in which anything ran. dropped: records lost; missing: launches without a record;
 * suppressed: launches that did nothing; graphs: launches of graphs with own kernels. modules: code
 * loaded since kg_prof_open(), by the base name of the object that loaded it; a lazy driver loads
 * at the first launch. Modules are not forgotten. */
KG_PROBE_API long kg_prof_take(char *out, size_t cap);

/* cupti_who.c: whose a launch is. Pure, but for facts about loaded objects. */

/* The class of a launch. object: path of the first object above driver and runtime, "" for memory
 * of no object. library, compiled: folders, separated by ':', of libraries and of a compiler's
 * output. label: see kg_prof_label. */
KG_PROBE_API enum kg_prof_class kg_prof_class_of(const char *object, const char *library,
                                                 const char *compiled, int label);
/* True if this object lies between a launch and its caller: the driver, CUPTI, the shared runtime,
 * this library. */
bool kg_prof_between(const char *object);
/* The class by the call stack of a callback. by: the caller's base name, "" if unknown; may be
 * NULL. */
enum kg_prof_class kg_prof_caller(const char *library, const char *compiled, int label,
                                  char by[KG_PROF_BASE]);

/* cupti_table.c: the book-keeping. */

/* One kernel. */
struct kg_prof_row {
    char name[KG_PROF_NAME];
    enum kg_prof_class whose;
    uint64_t calls, ns;
};
struct kg_prof_seen { /* a launch by its correlation, or a graph's node by its id */
    uint64_t id;
    uint32_t row;
    bool found; /* it has a record, or needs none */
};
/* One record. */
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

/* A name as it stands in rows, in JSON and in kg_prof_suppress: cut, with '?' for bytes that are
 * not plain text. */
void kg_prof_plain(const char *name, char out[KG_PROF_NAME]);
/* The row of a kernel by name and class; KG_PROF_ROWS if there is no room. */
uint32_t kg_prof_row_of(struct kg_prof_table *t, const char *name, enum kg_prof_class whose);
/* A launch of the kernel of a row. */
void kg_prof_launched(struct kg_prof_table *t, uint32_t correlation, uint32_t row);
/* The launch went into a graph under capture. So the node will have records, not the launch. */
void kg_prof_captured(struct kg_prof_table *t, uint32_t correlation, uint32_t row, uint64_t node);
/* Node `to` is a copy of node `from`. */
void kg_prof_cloned(struct kg_prof_table *t, uint64_t from, uint64_t to);
/* A record: start and end in ns; correlation of the launch, or node. */
void kg_prof_ran(struct kg_prof_table *t, uint32_t kind, uint64_t start, uint64_t end,
                 uint32_t correlation, uint64_t node);
/* A module that object `by` loaded. */
void kg_prof_loaded(struct kg_prof_table *t, const char *by, enum kg_prof_class whose,
                    uint64_t bytes);
/* As kg_prof_take, but nothing is forgotten. */
long kg_prof_print(struct kg_prof_table *t, char *out, size_t cap);
/* Forgets the windows and what they held; graph nodes stay known. */
void kg_prof_forget(struct kg_prof_table *t);

#endif
