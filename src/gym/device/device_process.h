/* Private to device/: the child's side of the fork. Opens its device, confines itself where that
 * can be, then serves requests from one socket until it is closed. Never returns. */
#ifndef KG_GYM_DEVICE_DEVICE_PROCESS_H
#define KG_GYM_DEVICE_DEVICE_PROCESS_H

#include "gym/device/device_judge.h"

/* broker: pid of the process that forked. */
_Noreturn void kg_dj_main(int sock, const struct kg_dj_spec *spec, pid_t broker,
                          const struct kg_dj_pause *pause);

#endif
