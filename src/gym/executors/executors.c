/* The table of executors: which kinds of problems there are. A name of the suites is looked for in
 * this order. */
#include "gym/native/native.h"
#include "gym/torch/torch.h"

const struct kg_executor *const kg_executors[] = {&kg_executor_native, &kg_executor_torch, NULL};

_Static_assert(sizeof kg_executors / sizeof *kg_executors <= KG_EXECUTORS_MAX + 1,
               "a worker has a part for each of them");
