// SPDX-License-Identifier: GPL-2.0
/* Definitions of the trace events, which read fields of objects of several layers. */
#include "link/lane.h"
#include "link/link.h"
#include "proto/names.h"
#include "proto/ops.h"
#include "proto/state.h"
#include "proto/words.h"
#include "session/session.h"
#define CREATE_TRACE_POINTS
#include "base/trace.h"
