/* The engine: language models of the Qwen2 and Qwen3 families on the CPU, in f32. It samples,
 * scores and trains with one forward, so the log-probs of sampling and of training are equal bit
 * for bit. What lies above it (src/rl) includes this header.
 *
 *   model/model.h     weights by name, random start, packing after a change
 *   model/lora.h      an adapter beside the base
 *   train/trainer.h   rows -> log-probs -> gradients -> AdamW
 *   train/schedule.h  learning rates
 *   infer/engine.h    groups of samples, conversations, steps that give tokens
 *   ops/threads.h     the threads that all of them run on
 *
 * Only memory for model, trainer and engine is allocated, when they are made: a step allocates
 * nothing. One caller at a time: they share the threads. */
#ifndef KG_LM_LM_H
#define KG_LM_LM_H

#include "lm/infer/engine.h"
#include "lm/model/config.h"
#include "lm/model/lora.h"
#include "lm/model/model.h"
#include "lm/ops/threads.h"
#include "lm/train/rows.h"
#include "lm/train/schedule.h"
#include "lm/train/trainer.h"

#endif
