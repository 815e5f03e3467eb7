/* Private to judge/: the judge's side of the fork. It drops what it does not need, confines itself,
 * then serves requests from one socket until the socket is closed. */
#ifndef KG_GYM_JUDGE_PROCESS_H
#define KG_GYM_JUDGE_PROCESS_H

#include <sys/types.h>

/* Never returns. broker: pid of the process that forked; the judge ends with it. cpu: core to pin
 * to; -1: do not pin. */
_Noreturn void kg_judge_main(int sock, int cpu, pid_t broker);

#endif
