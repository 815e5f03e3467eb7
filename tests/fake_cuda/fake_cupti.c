/* A stand-in for libcupti, for tests without a GPU: launches that a test describes go through the
 * subscriber's callback as those of a driver do, and become records with times from a clock that
 * only the test moves. One thread; nothing runs. */
#include "fake_cupti.h"

#include <string.h>

#define MOST 20000

static kg_cupti_callback callback;
static kg_cupti_request request;
static kg_cupti_complete complete;
static struct kg_cupti_record record[MOST];
static size_t nrecords, taken, lost_records;
static uint64_t now = 1000, back;
static uint32_t correlation;

int cuptiSubscribe(void **subscriber, kg_cupti_callback c, void *user)
{
    (void)user;
    if (callback) {
        return 39; /* CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED */
    }
    *subscriber = &callback;
    callback = c;
    return 0;
}
int cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t id)
{
    bool known = (domain == KG_CUPTI_DRIVER || domain == KG_CUPTI_RESOURCE) && id > 0;
    return on == 1 && subscriber == &callback && known ? 0 : 1;
}
int cuptiActivityRegisterCallbacks(kg_cupti_request r, kg_cupti_complete c)
{
    request = r;
    complete = c;
    return 0;
}
int cuptiActivityEnable(int kind)
{
    return kind > 0 ? 0 : 1;
}
int cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag;
    for (size_t done = 0; done < nrecords;) {
        uint8_t *buffer = NULL;
        size_t bytes = 0, most = 0;
        request(&buffer, &bytes, &most);
        size_t n = bytes / sizeof record[0];
        n = n < nrecords - done ? n : nrecords - done;
        memcpy(buffer, record + done, n * sizeof record[0]);
        done += n;
        taken = 0;
        complete(NULL, 0, buffer, bytes, n * sizeof record[0]);
    }
    nrecords = 0;
    return 0;
}
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **out)
{
    if (taken + sizeof record[0] > valid) {
        return 12; /* CUPTI_ERROR_MAX_LIMIT_REACHED */
    }
    *out = buffer + taken;
    taken += sizeof record[0];
    return 0;
}
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
    (void)context;
    (void)stream;
    *dropped = lost_records;
    lost_records = 0;
    return 0;
}
int cuptiGetTimestamp(uint64_t *ns)
{
    *ns = now;
    return 0;
}
int cuptiGetGraphNodeId(void *node, uint64_t *id)
{
    *id = (uint64_t)(uintptr_t)node;
    return 0;
}

static void add(uint32_t kind, uint64_t ns, uint64_t node)
{
    uint64_t start = now - back;
    if (nrecords < MOST) {
        record[nrecords++] = (struct kg_cupti_record){.kind = kind,
                                                      .start = start,
                                                      .end = start + ns,
                                                      .correlation = correlation,
                                                      .node = node};
    }
    now = start + ns > now ? start + ns : now;
    back = 0;
}

static void resource(uint32_t id, uint64_t node, uint64_t original)
{
    struct kg_cupti_graph g = {.node = (void *)(uintptr_t)node,               // NOLINT
                               .original_node = (void *)(uintptr_t)original}; // NOLINT
    struct kg_cupti_resource r = {.descriptor = &g};
    callback(NULL, KG_CUPTI_RESOURCE, id, &r);
}

void kg_fake_cupti_module(size_t bytes)
{
    static uint32_t modules;
    struct kg_cupti_module m = {.id = ++modules, .bytes = bytes, .cubin = "\177ELF"};
    struct kg_cupti_resource r = {.descriptor = &m};
    callback(NULL, KG_CUPTI_RESOURCE, KG_CUPTI_MODULE_LOADED, &r);
}

void kg_fake_cupti_launch(uint32_t id, const char *symbol, void *params, uint64_t ns, uint64_t node,
                          bool lost)
{
    struct kg_cupti_call c = {.params = params, .symbol = symbol, .correlation = ++correlation};
    callback(NULL, KG_CUPTI_DRIVER, id, &c);
    if (node) {
        resource(KG_CUPTI_NODE_CREATED, node, 0);
    } else if (!lost) {
        add(KG_CUPTI_CONCURRENT_KERNEL, ns, 0);
    }
    c.site = 1;
    callback(NULL, KG_CUPTI_DRIVER, id, &c);
}
void kg_fake_cupti_clone(uint64_t from, uint64_t to)
{
    resource(KG_CUPTI_NODE_CLONED, to, from);
}
void kg_fake_cupti_graph(const uint64_t *nodes, int n, uint64_t ns)
{
    struct kg_cupti_call c = {.correlation = ++correlation};
    callback(NULL, KG_CUPTI_DRIVER, KG_CUPTI_GRAPH, &c);
    for (int i = 0; i < n; i++) {
        add(KG_CUPTI_CONCURRENT_KERNEL, ns, nodes[i]);
    }
    c.site = 1;
    callback(NULL, KG_CUPTI_DRIVER, KG_CUPTI_GRAPH, &c);
}
void kg_fake_cupti_copy(uint32_t kind, uint64_t ns)
{
    ++correlation;
    add(kind, ns, 0);
}
void kg_fake_cupti_wait(uint64_t ns)
{
    now += ns;
}
void kg_fake_cupti_back(uint64_t ns)
{
    back = ns;
}
void kg_fake_cupti_drop(size_t records)
{
    lost_records = records;
}
