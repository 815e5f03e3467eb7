/* What the text of a Python module tells without running it, by its tokens: any bytes give an
 * answer. Pure. */
#ifndef KG_GYM_TORCH_PROBLEM_MODULE_H
#define KG_GYM_TORCH_PROBLEM_MODULE_H

#include "base/arena.h"

/* Does it define the class or function at module level, perhaps under a condition? */
bool kg_module_defines(const char *text, size_t len, const char *name);
/* Is it a problem (class Model, get_inputs)? A suite's folder may hold other modules. */
bool kg_module_is_problem(const char *text, size_t len);
/* Does it import the package (`import NAME...`, `from NAME... import`), anywhere? */
bool kg_module_imports(const char *text, size_t len, const char *package);
/* Does it name what needs a GPU: CUDA, an extension, Triton? Where it does not, no exception of its
 * does: what a runner says is a claim, and none may drop a candidate out of the sample. */
bool kg_module_needs_gpu(const char *text, size_t len);
/* The kernels that it holds, however they are reached: functions that Triton compiles (it imports
 * triton and names `jit`), and CUDA's (`__global__`). 0: none. */
enum { KG_KERNELS_TRITON = 1, KG_KERNELS_CUDA = 2 };
unsigned kg_module_kernels(const char *text, size_t len);
/* Does it ask where it runs, in this line or near it: is_cuda, device, CUDA, a GPU? The condition
 * of a `raise` stands before it, its words may stand after it. */
bool kg_module_asks_device(const char *text, size_t len, int64_t line);
/* Is the kernel written for this very size: is there such a literal? */
bool kg_module_has_number(const char *text, size_t len, int64_t number);
/* Does no access to memory in it have a mask? Such kernels are for shapes that divide evenly. */
bool kg_module_unmasked(const char *text, size_t len);
/* The first paragraph of its docstring on one line, cut at 240 bytes; "" without. */
const char *kg_module_doc(const char *text, size_t len, struct kg_arena *arena,
                          struct kg_err *err) KG_MUST_USE;

#endif
