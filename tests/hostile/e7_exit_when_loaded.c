/*---fixture
problem: cross_entropy
entry: E7
what: leaves with status 0 while it is being loaded
control: naive
expect: crash/exit
---*/
#include <stdint.h>
#include <unistd.h>

__attribute__((constructor)) static void leave(void)
{
    _exit(0);
}

void cross_entropy(const float *logits, const int32_t *label, float *loss, int64_t rows,
                   int64_t classes)
{
    (void)logits, (void)label, (void)loss, (void)rows, (void)classes;
}
