/* Compiled, never run: what src/probe/cupti_api.h says about CUPTI against its headers. */
#include <stddef.h>

#include "probe/cupti_api.h"

#include <cupti.h>

#define SAME(a, b) _Static_assert((int)(a) == (int)(b), #a " is not " #b)
SAME(KG_CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME(KG_CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
SAME(KG_CUPTI_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL);
SAME(KG_CUPTI_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME(KG_CUPTI_MEMCPY_PEER, CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME(KG_CUPTI_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
SAME(KG_CUPTI_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
SAME(KG_CUPTI_LAUNCH, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
SAME(KG_CUPTI_LAUNCH_PTSZ, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz);
SAME(KG_CUPTI_LAUNCH_COOP, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel);
SAME(KG_CUPTI_LAUNCH_COOP_PTSZ, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz);
SAME(KG_CUPTI_GRAPH, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch);
SAME(KG_CUPTI_GRAPH_PTSZ, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz);
SAME(KG_CUPTI_LAUNCH_EX, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx);
SAME(KG_CUPTI_LAUNCH_EX_PTSZ, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz);
SAME(KG_CUPTI_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);
SAME(KG_CUPTI_NODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
SAME(KG_CUPTI_NODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
SAME(KG_CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
SAME(0, CUPTI_API_ENTER);

#define AT(ours, field, theirs, name)                                                              \
    _Static_assert(offsetof(struct ours, field) == offsetof(theirs, name),                         \
                   #theirs "." #name " lies elsewhere")
AT(kg_cupti_record, start, CUpti_ActivityKernel9, start);
AT(kg_cupti_record, end, CUpti_ActivityKernel9, end);
AT(kg_cupti_record, correlation, CUpti_ActivityKernel9, correlationId);
AT(kg_cupti_record, node, CUpti_ActivityKernel9, graphNodeId);
AT(kg_cupti_copy, start, CUpti_ActivityMemcpy5, start);
AT(kg_cupti_copy, end, CUpti_ActivityMemcpy5, end);
AT(kg_cupti_copy, start, CUpti_ActivityMemset4, start);
AT(kg_cupti_copy, end, CUpti_ActivityMemset4, end);
AT(kg_cupti_call, site, CUpti_CallbackData, callbackSite);
AT(kg_cupti_call, params, CUpti_CallbackData, functionParams);
AT(kg_cupti_call, symbol, CUpti_CallbackData, symbolName);
AT(kg_cupti_call, correlation, CUpti_CallbackData, correlationId);
AT(kg_cupti_resource, descriptor, CUpti_ResourceData, resourceDescriptor);
AT(kg_cupti_module, id, CUpti_ModuleResourceData, moduleId);
AT(kg_cupti_module, bytes, CUpti_ModuleResourceData, cubinSize);
AT(kg_cupti_graph, node, CUpti_GraphData, node);
AT(kg_cupti_graph, original_node, CUpti_GraphData, originalNode);
AT(kg_cu_config, grid, CUlaunchConfig, gridDimX);
AT(kg_cu_config, block, CUlaunchConfig, blockDimX);
AT(kg_cu_config, shared, CUlaunchConfig, sharedMemBytes);
AT(kg_cu_config, stream, CUlaunchConfig, hStream);
AT(kg_cu_config, attributes, CUlaunchConfig, attrs);
AT(kg_cu_config, nattributes, CUlaunchConfig, numAttrs);
SAME(sizeof(struct kg_cu_config), sizeof(CUlaunchConfig));
AT(kg_launch_params, function, cuLaunchKernel_params, f);
AT(kg_launch_params, grid, cuLaunchKernel_params, gridDimX);
AT(kg_launch_params, block, cuLaunchKernel_params, blockDimX);
AT(kg_launch_params, shared, cuLaunchKernel_params, sharedMemBytes);
AT(kg_launch_params, extra, cuLaunchKernel_params, extra);
AT(kg_launch_params, shared, cuLaunchCooperativeKernel_params, sharedMemBytes);
AT(kg_launch_params, params, cuLaunchCooperativeKernel_params, kernelParams);
AT(kg_launch_ex_params, config, cuLaunchKernelEx_params, config);
AT(kg_launch_ex_params, function, cuLaunchKernelEx_params, f);
AT(kg_launch_ex_params, extra, cuLaunchKernelEx_params, extra);
