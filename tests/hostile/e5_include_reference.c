/*---fixture
problem: softmax
entry: E5
what: includes the problem's own source
control: host compiler
expect: rejected/entry-missing compile_error/syntax compile_error/missing_entry
---*/
#include <stdint.h>

#define real float
#if __has_include("problems/native/softmax.c")
#include "problems/native/softmax.c"
#define FOUND
#endif
#ifdef FOUND
__asm__(".ascii \"ESCAPED: the reference\"");
#else
#error "no reference here"
#endif
