/* The number type of the engine: f32. With LM_F64 the same sources are built in f64, for the tests
 * that compare gradients with central differences; nothing else uses that build. */
#ifndef KG_LM_OPS_REAL_H
#define KG_LM_OPS_REAL_H

#ifdef LM_F64
typedef double lm_real;
#else
typedef float lm_real;
#endif

#endif
