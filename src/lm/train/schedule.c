#include "lm/train/schedule.h"

#include <math.h>

float lm_schedule_rate(const struct lm_schedule *s, int step)
{
    if (step < s->warmup) {
        return s->rate * (float)(step + 1) / (float)s->warmup;
    }
    if (s->kind == LM_CONSTANT) {
        return s->rate;
    }
    if (step >= s->steps) {
        return s->lowest;
    }
    double way = (double)(step - s->warmup) / (double)(s->steps - s->warmup);
    return (float)(s->lowest + (s->rate - s->lowest) * .5 * (1 + cos(M_PI * way)));
}
