#include "single.h"

#include "image.inc"

#include "double.h"

#include "image.inc"
