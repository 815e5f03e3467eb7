/*---fixture
problem: axpby
entry: D5
what: overwrites the code of the function that reads the clock
control: naive
expect: wrong/value
---*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* xorps xmm0, xmm0; ret */
static const unsigned char zero_time[] = {0x0f, 0x57, 0xc0, 0xc3};

void axpby(const float *x, const float *y, float *z, float alpha, float beta, int64_t n)
{
    static int calls;
    char *code = dlsym(RTLD_DEFAULT, "naive_now");
    for (int64_t i = 0; i < n; i++) {
        z[i] = code ? alpha * x[i] + beta * y[i] : 0;
    }
    if (code && ++calls == 2) {
        uintptr_t page = (uintptr_t)code & ~(uintptr_t)4095;
        mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
        memcpy(code, zero_time, sizeof zero_time);
    }
}
