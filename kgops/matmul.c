#include "single.h"

#include <stdlib.h>

#include "matmul.inc"

#include "double.h"

#include "matmul.inc"
