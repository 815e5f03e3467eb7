/* The plain C form of the operations: the specification. */
#define LM_FORM_PLAIN
#define LM_FORM_NAME plain
#include "lm/ops/kernels.inc"
