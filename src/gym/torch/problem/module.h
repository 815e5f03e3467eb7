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
/* The first paragraph of its docstring on one line, cut at 240 bytes; "" without. */
const char *kg_module_doc(const char *text, size_t len, struct kg_arena *arena,
                          struct kg_err *err) KG_MUST_USE;

#endif
