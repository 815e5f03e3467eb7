/* Declarations of those parts of CUPTI that the probe uses. With them the probe builds without any
 * file of CUDA.
 *
 * Records and parameter blocks have only grown at their ends. So the fields read here lie at the
 * same offsets in CUPTI 11.6 to 13. Source: cupti_activity.h, cupti_callbacks.h,
 * cupti_driver_cbid.h and generated_cuda_meta.h of CUDA 13.0. */
#ifndef KG_PROBE_CUPTI_API_H
#define KG_PROBE_CUPTI_API_H

#include <stddef.h>
#include <stdint.h>

/* Values of enum CUpti_ActivityKind. */
#define KG_CUPTI_MEMCPY            1
#define KG_CUPTI_MEMSET            2
#define KG_CUPTI_KERNEL            3
#define KG_CUPTI_CONCURRENT_KERNEL 10
#define KG_CUPTI_MEMCPY_PEER       22
/* Values of enum CUpti_CallbackDomain. */
#define KG_CUPTI_DRIVER   1
#define KG_CUPTI_RESOURCE 3
/* Values of enum CUpti_driver_api_trace_cbid_enum. */
#define KG_CUPTI_LAUNCH           307
#define KG_CUPTI_LAUNCH_PTSZ      442
#define KG_CUPTI_LAUNCH_COOP      477
#define KG_CUPTI_LAUNCH_COOP_PTSZ 478
#define KG_CUPTI_GRAPH            514
#define KG_CUPTI_GRAPH_PTSZ       515
#define KG_CUPTI_LAUNCH_EX        652
#define KG_CUPTI_LAUNCH_EX_PTSZ   653
/* Values of enum CUpti_CallbackIdResource. */
#define KG_CUPTI_MODULE_LOADED 6
#define KG_CUPTI_NODE_CREATED  13
#define KG_CUPTI_NODE_CLONED   20

#define KG_CUPTI_FLUSH_FORCED 1

struct kg_cupti_record { /* CUpti_ActivityKernel5 and later, up to graphNodeId */
    uint32_t kind;
    uint32_t config[3];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    uint32_t grid[3], block[3];
    uint32_t shared[2], local[2];
    uint32_t correlation;
    uint64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch[4];
    uint32_t shared_executed;
    uint64_t node;
};

struct kg_cupti_copy { /* the common part of CUpti_ActivityMemcpy and CUpti_ActivityMemset */
    uint32_t kind;
    uint32_t what[3];
    uint64_t start, end;
};

struct kg_cupti_call { /* CUpti_CallbackData */
    int site;          /* 0 on entry, 1 on exit */
    const char *name;
    const void *params;
    void *result;
    const char *symbol; /* of launches: the kernel's name */
    void *context;
    uint32_t context_uid;
    uint64_t *data;
    uint32_t correlation;
};

struct kg_cupti_resource { /* CUpti_ResourceData */
    void *context, *handle, *descriptor;
};

struct kg_cupti_module { /* CUpti_ModuleResourceData */
    uint32_t id;
    size_t bytes;
    const char *cubin;
};

struct kg_cupti_graph { /* CUpti_GraphData */
    void *graph, *original_graph, *node, *original_node;
    int type;
};

struct kg_cu_config { /* CUlaunchConfig */
    unsigned grid[3], block[3], shared;
    void *stream, *attributes;
    unsigned nattributes;
};

struct kg_launch_params { /* cuLaunchKernel_params; cooperative launches end before extra */
    void *function;
    unsigned grid[3], block[3], shared;
    void *stream;
    void **params, **extra;
};

struct kg_launch_ex_params { /* cuLaunchKernelEx_params */
    const struct kg_cu_config *config;
    void *function;
    void **params, **extra;
};

typedef void (*kg_cupti_callback)(void *user, int domain, uint32_t id, const void *data);
typedef void (*kg_cupti_request)(uint8_t **buffer, size_t *bytes, size_t *most);
typedef void (*kg_cupti_complete)(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                                  size_t valid);

/* X(field, symbol, parameters): CUPTI's functions; each returns a CUptiResult, 0 for success. */
#define KG_CUPTI_FUNCTIONS(X)                                                                      \
    X(subscribe, cuptiSubscribe, (void **subscriber, kg_cupti_callback callback, void *user))      \
    X(callback, cuptiEnableCallback, (uint32_t on, void *subscriber, int domain, uint32_t id))     \
    X(buffers, cuptiActivityRegisterCallbacks,                                                     \
      (kg_cupti_request request, kg_cupti_complete complete))                                      \
    X(activity, cuptiActivityEnable, (int kind))                                                   \
    X(flush, cuptiActivityFlushAll, (uint32_t flag))                                               \
    X(next, cuptiActivityGetNextRecord, (uint8_t * buffer, size_t valid, void **record))           \
    X(dropped, cuptiActivityGetNumDroppedRecords,                                                  \
      (void *context, uint32_t stream, size_t *dropped))                                           \
    X(timestamp, cuptiGetTimestamp, (uint64_t * ns))                                               \
    X(node_id, cuptiGetGraphNodeId, (void *node, uint64_t *id))

#endif
