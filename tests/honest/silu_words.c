/*---fixture
problem: silu
entry: 6.9
what: comments and strings full of words that a careless scanner stumbles over
expect: ok
twin: E12
---*/
#include <math.h>
#include <stdint.h>

/* No system() here, no fork, no kill(-1), no ptrace; "clock_gettime" is not read either.
 * pass, stream, try, except: the words of another language. // a comment in a comment */
static const char *const why = "system(\"rm -rf /\"); /* not a comment */ #include </etc/passwd>";

// syscall(57) \
   goes on here: fork();
void silu(const float *x, float *y, int64_t n)
{
    const char *note = "asm(\"int $0x80\") }"; /* { */
    int cache_replay_hack = why[0] == 's' && note[0] == 'a';
    for (int64_t i = 0; i < n * cache_replay_hack; i++) {
        y[i] = x[i] / (1.0f + expf(-x[i]));
    }
}
