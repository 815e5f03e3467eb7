/* CUPTI in a runner: loads it, subscribes to launches, and collects their records. */
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gym/device/cuda_driver.h"
#include "probe/cupti_api.h"
#include "probe/profile.h"

#define BUFFER_BYTES ((size_t)1 << 20)

#define FIELD(field, symbol, params) int(*field) params; /* NOLINT: no expressions */
static struct {
    void *library, *driver;
    KG_CUPTI_FUNCTIONS(FIELD)
} cupti;
#undef FIELD

static char why[300] = "not open";
static char libraries[4096], compiled[4096];
static char suppressed[KG_PROF_NAMES][KG_PROF_NAME];
static uint32_t nsuppressed;
static bool inside; /* a window is open */
static void *empty; /* a kernel of one thread that does nothing */
static struct kg_prof_table table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static _Thread_local int label;
static _Thread_local struct {
    bool under_way;
    uint32_t correlation, row;
} current;                                       /* the launch of this thread */
static _Thread_local struct kg_cu_config config; /* replaces that of a suppressed launch */

static const char empty_ptx[] = ".version 7.0\n"
                                ".target sm_52\n"
                                ".address_size 64\n"
                                ".visible .entry kg_empty()\n"
                                "{\n"
                                "    ret;\n"
                                "}\n";

const char *kg_prof_error(void)
{
    return why;
}

int kg_prof_label(int now)
{
    int before = label;
    label = now;
    return before;
}

/* Launches. */

static bool is_suppressed(const char *name)
{
    char cut[KG_PROF_NAME];
    kg_prof_plain(name, cut);
    for (uint32_t i = 0; i < nsuppressed; i++) {
        if (strcmp(suppressed[i], "*") == 0 || strcmp(suppressed[i], cut) == 0) {
            return true;
        }
    }
    return false;
}

/* Replaces a launch by the empty kernel. The parameters are a copy on the driver's stack, from
 * which it launches; only CUPTI declares them const. */
static void do_nothing_instead(uint32_t id, const void *params)
{
    if (id == KG_CUPTI_LAUNCH_EX || id == KG_CUPTI_LAUNCH_EX_PTSZ) {
        struct kg_launch_ex_params *p = (struct kg_launch_ex_params *)(uintptr_t)params;
        config = (struct kg_cu_config){
            .grid = {1, 1, 1}, .block = {1, 1, 1}, .stream = p->config->stream};
        p->config = &config;
        p->function = empty;
        p->extra = NULL;
        return;
    }
    struct kg_launch_params *p = (struct kg_launch_params *)(uintptr_t)params;
    p->function = empty;
    for (int i = 0; i < 3; i++) {
        p->grid[i] = p->block[i] = 1;
    }
    p->shared = 0;
    if (id == KG_CUPTI_LAUNCH || id == KG_CUPTI_LAUNCH_PTSZ) {
        p->extra = NULL;
    }
}

static void on_launch(uint32_t id, const struct kg_cupti_call *c)
{
    if (c->site != 0) {
        current.under_way = false;
        return;
    }
    const char *name = c->symbol ? c->symbol : "";
    enum kg_prof_class whose = kg_prof_caller(libraries, compiled, label, NULL);
    pthread_mutex_lock(&lock);
    uint32_t row = kg_prof_row_of(&table, name, whose);
    current.under_way = true;
    current.correlation = c->correlation;
    current.row = row;
    if (inside) {
        kg_prof_launched(&table, c->correlation, row);
    }
    bool quench = whose == KG_PROF_OWN && is_suppressed(name);
    table.suppressed += quench;
    pthread_mutex_unlock(&lock);
    if (quench) {
        do_nothing_instead(id, c->params);
    }
}

static void on_graph(const struct kg_cupti_call *c)
{
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; c->site == 0 && inside && i < table.nnodes; i++) {
        if (table.row[table.node[i].row].whose == KG_PROF_OWN) {
            table.graphs++;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
}

static void on_module(const struct kg_cupti_module *m)
{
    char by[KG_PROF_BASE];
    enum kg_prof_class whose = kg_prof_caller(libraries, compiled, label, by);
    pthread_mutex_lock(&lock);
    kg_prof_loaded(&table, by, whose, m != NULL ? m->bytes : 0);
    pthread_mutex_unlock(&lock);
}

static void on_node(uint32_t id, const struct kg_cupti_graph *g)
{
    uint64_t to = 0, from = 0;
    if (g == NULL || cupti.node_id(g->node, &to) != 0) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (id == KG_CUPTI_NODE_CREATED && current.under_way) {
        kg_prof_captured(&table, current.correlation, current.row, to);
    } else if (id == KG_CUPTI_NODE_CLONED && cupti.node_id(g->original_node, &from) == 0) {
        kg_prof_cloned(&table, from, to);
    }
    pthread_mutex_unlock(&lock);
}

static void on_call(void *user, int domain, uint32_t id, const void *data)
{
    (void)user;
    if (domain == KG_CUPTI_RESOURCE) {
        const struct kg_cupti_resource *r = data;
        if (id == KG_CUPTI_MODULE_LOADED) {
            on_module(r->descriptor);
        } else {
            on_node(id, r->descriptor);
        }
    } else if (id == KG_CUPTI_GRAPH || id == KG_CUPTI_GRAPH_PTSZ) {
        on_graph(data);
    } else {
        on_launch(id, data);
    }
}

/* Records. */

static void want_buffer(uint8_t **buffer, size_t *bytes, size_t *most)
{
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *bytes = *buffer ? BUFFER_BYTES : 0;
    *most = 0;
}

static void take_record(const void *record)
{
    const struct kg_cupti_copy *c = record;
    const struct kg_cupti_record *k = record;
    switch (c->kind) {
    case KG_CUPTI_MEMCPY:
    case KG_CUPTI_MEMSET:
    case KG_CUPTI_MEMCPY_PEER:
        kg_prof_ran(&table, c->kind, c->start, c->end, 0, 0);
        break;
    case KG_CUPTI_KERNEL:
    case KG_CUPTI_CONCURRENT_KERNEL:
        kg_prof_ran(&table, k->kind, k->start, k->end, k->correlation, k->node);
        break;
    default:;
    }
}

static void take_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
    void *record = NULL;
    size_t lost = 0;
    (void)bytes;
    pthread_mutex_lock(&lock);
    while (valid > 0 && cupti.next(buffer, valid, &record) == 0) {
        take_record(record);
    }
    if (cupti.dropped(context, stream, &lost) == 0) {
        table.dropped += lost;
    }
    pthread_mutex_unlock(&lock);
    free(buffer);
}

/* Opening. */

/* Finds torch's own CUPTI, not the one that Triton brings. */
static int find_library(struct dl_phdr_info *info, size_t size, void *out)
{
    const char *name = info->dlpi_name ? info->dlpi_name : "";
    (void)size;
    if (strstr(name, "libcupti.so") == NULL || strstr(name, "/triton/") != NULL) {
        return 0;
    }
    snprintf(out, 4096, "%s", name);
    return 1;
}

static int bind(void)
{
    char path[4096] = "libcupti.so";
    const char *named = getenv("KGYM_LIBCUPTI"), *driver = getenv("KGYM_LIBCUDA");
    if (named != NULL) {
        snprintf(path, sizeof path, "%s", named);
    } else {
        dl_iterate_phdr(find_library, path);
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    cupti.driver = library ? dlopen(driver ? driver : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
    if (cupti.driver == NULL) {
        snprintf(why, sizeof why, "%s", dlerror());
        return -1;
    }
#define LOAD(field, sym, params)                                                                   \
    *(void **)&cupti.field = dlsym(library, #sym);                                                 \
    if (cupti.field == NULL) {                                                                     \
        snprintf(why, sizeof why, "%.200s has no %s", path, #sym);                                 \
        return -1;                                                                                 \
    }
    KG_CUPTI_FUNCTIONS(LOAD)
#undef LOAD
    cupti.library = library;
    return 0;
}

static int make_empty(void)
{
    int (*load)(void **module, const void *image);
    int (*function)(void **out, void *module, const char *name);
    void *module = NULL;
    *(void **)&load = dlsym(cupti.driver, "cuModuleLoadData");
    *(void **)&function = dlsym(cupti.driver, "cuModuleGetFunction");
    if (load == NULL || function == NULL || load(&module, empty_ptx) != 0 ||
        function(&empty, module, "kg_empty") != 0) {
        snprintf(why, sizeof why, "cannot load an empty kernel");
        return -1;
    }
    return 0;
}

static int listen_to(void)
{
    static const uint32_t calls[] = {
        KG_CUPTI_LAUNCH, KG_CUPTI_LAUNCH_PTSZ, KG_CUPTI_LAUNCH_EX,   KG_CUPTI_LAUNCH_EX_PTSZ,
        KG_CUPTI_GRAPH,  KG_CUPTI_GRAPH_PTSZ,  KG_CUPTI_LAUNCH_COOP, KG_CUPTI_LAUNCH_COOP_PTSZ};
    static const uint32_t resources[] = {KG_CUPTI_MODULE_LOADED, KG_CUPTI_NODE_CREATED,
                                         KG_CUPTI_NODE_CLONED};
    static const int kinds[] = {KG_CUPTI_CONCURRENT_KERNEL, KG_CUPTI_MEMCPY, KG_CUPTI_MEMSET};
    void *subscriber = NULL;
    int rc = cupti.subscribe(&subscriber, on_call, NULL);
    if (rc != 0) {
        snprintf(why, sizeof why, "cannot subscribe to CUPTI (%d)", rc);
        return -1;
    }
    for (size_t i = 0; rc == 0 && i < sizeof calls / sizeof *calls; i++) {
        rc = cupti.callback(1, subscriber, KG_CUPTI_DRIVER, calls[i]);
    }
    for (size_t i = 0; rc == 0 && i < sizeof resources / sizeof *resources; i++) {
        rc = cupti.callback(1, subscriber, KG_CUPTI_RESOURCE, resources[i]);
    }
    rc = rc ? rc : cupti.buffers(want_buffer, take_buffer);
    for (size_t i = 0; rc == 0 && i < sizeof kinds / sizeof *kinds; i++) {
        rc = cupti.activity(kinds[i]);
    }
    if (rc != 0) {
        snprintf(why, sizeof why, "CUPTI refuses launch records (%d)", rc);
    }
    return rc == 0 ? 0 : -1;
}

int kg_prof_open(const char *library)
{
    void *warm[4];
    if (cupti.library != NULL) {
        return 0;
    }
    if (strlen(library) >= sizeof libraries) {
        snprintf(why, sizeof why, "too many folders of libraries");
        return -1;
    }
    memcpy(libraries, library, strlen(library) + 1);
    backtrace(warm, 4); /* the first call loads what it needs */
    if (bind() != 0 || make_empty() != 0 || listen_to() != 0) {
        cupti.library = NULL;
        return -1;
    }
    snprintf(why, sizeof why, "no error");
    return 0;
}

/* Calls of the runner. */

void kg_prof_compiled(const char *folder)
{
    size_t n = strlen(folder), used = strlen(compiled);
    if (n > 0 && used + n + 2 < sizeof compiled) {
        pthread_mutex_lock(&lock);
        snprintf(compiled + used, sizeof compiled - used, "%s%s", used > 0 ? ":" : "", folder);
        pthread_mutex_unlock(&lock);
    }
}

int kg_prof_suppress(const char *name)
{
    int rc = 0;
    pthread_mutex_lock(&lock);
    if (name == NULL) {
        nsuppressed = 0;
    } else if (nsuppressed == KG_PROF_NAMES) {
        rc = -1;
    } else {
        kg_prof_plain(name, suppressed[nsuppressed++]);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

void kg_prof_begin(void)
{
    uint64_t now = 0;
    cupti.timestamp(&now);
    pthread_mutex_lock(&lock);
    bool anew = !inside || table.nwindows == 0;
    if (!anew || table.nwindows < sizeof table.window / sizeof *table.window) {
        table.nwindows += anew; /* open windows count: full buffers of records come meanwhile */
        table.window[table.nwindows - 1].from = now;
        table.window[table.nwindows - 1].to = UINT64_MAX;
        inside = true;
    } else {
        table.dropped++;
    }
    pthread_mutex_unlock(&lock);
}

void kg_prof_end(void)
{
    uint64_t now = 0;
    cupti.timestamp(&now);
    pthread_mutex_lock(&lock);
    if (inside && table.nwindows > 0) {
        table.window[table.nwindows - 1].to = now;
    }
    inside = false;
    pthread_mutex_unlock(&lock);
}

long kg_prof_take(char *out, size_t cap)
{
    cupti.flush(KG_CUPTI_FLUSH_FORCED);
    pthread_mutex_lock(&lock);
    long n = kg_prof_print(&table, out, cap);
    kg_prof_forget(&table);
    pthread_mutex_unlock(&lock);
    return n;
}
