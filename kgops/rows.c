#include "single.h"

#include "rows.inc"

#include "double.h"

#include "rows.inc"
