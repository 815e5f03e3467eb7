#include "single.h"

#include "table.inc"

#include "double.h"

#include "table.inc"
