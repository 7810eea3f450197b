// SPDX-License-Identifier: GPL-2.0
/* The trace events are made here: they look into objects of every layer. */
#include "link/lane.h"
#include "link/link.h"
#include "session/session.h"
#define CREATE_TRACE_POINTS
#include "base/trace.h"
