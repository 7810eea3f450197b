// SPDX-License-Identifier: GPL-2.0
/* The trace events are made here: they look into objects of every layer. */
#include "lane.h"
#include "link.h"
#include "session.h"
#define CREATE_TRACE_POINTS
#include "trace.h"
