#include "single.h"

#include "map.inc"

#include "double.h"

#include "map.inc"
