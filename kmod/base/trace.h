/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trace events: rdma_char:* under /sys/kernel/tracing/events. Laid out by hand. 'rchar trace'
 * (tools/rchar/trace.cc) reads these fields by name.
 */
/* clang-format off */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdma_char

#if !defined(RCHAR_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RCHAR_TRACE_H

#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

/* tracepoints.c includes the definitions of these types, and the lists of words. */
struct rchar_hdr;
struct rchar_lane;
struct rchar_link;
struct rchar_session;

#ifdef TRACE_HEADER_MULTI_READ
/* For programs that read binary records: the numbers behind the names in the formats. */
#define RCHAR_TRACE_ENUM(value, word) TRACE_DEFINE_ENUM(value);
RCHAR_LINK_STATE_NAMES(RCHAR_TRACE_ENUM)
RCHAR_LANE_STATE_NAMES(RCHAR_TRACE_ENUM)
RCHAR_SESSION_STATE_NAMES(RCHAR_TRACE_ENUM)
RCHAR_REASON_NAMES(RCHAR_TRACE_ENUM)
RCHAR_OP_NAMES(RCHAR_TRACE_ENUM)
#endif

#define RCHAR_TRACE_WORD(value, word) { value, word },
#define rchar_trace_word(value, NAMES) \
	__print_symbolic(value, NAMES(RCHAR_TRACE_WORD) { -2, "?" })
#define rchar_trace_flags(flags) \
	__print_flags(flags, "|", RCHAR_FRAME_FLAG_NAMES(RCHAR_TRACE_WORD) { 0x80000000, "?" })

TRACE_EVENT(rchar_link_state,
	TP_PROTO(const struct rchar_link *link, int from,
		 int to, int reason),
	TP_ARGS(link, from, to, reason),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(bool, initiator)
		__field(int, from)
		__field(int, to)
		__field(int, reason)
	),
	TP_fast_assign(
		__entry->id = link->id;
		__entry->initiator = link->initiator;
		__entry->from = from;
		__entry->to = to;
		__entry->reason = reason;
	),
	TP_printk("link=%016llx %s from=%s to=%s reason=%s", __entry->id,
		  __entry->initiator ? "initiator" : "acceptor",
		  rchar_trace_word(__entry->from, RCHAR_LINK_STATE_NAMES),
		  rchar_trace_word(__entry->to, RCHAR_LINK_STATE_NAMES),
		  rchar_trace_word(__entry->reason, RCHAR_REASON_NAMES))
);

TRACE_EVENT(rchar_lane_state,
	TP_PROTO(const struct rchar_lane *lane, int from,
		 int to),
	TP_ARGS(lane, from, to),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(u8, lane)
		__field(int, from)
		__field(int, to)
		__field(int, reason)
	),
	TP_fast_assign(
		__entry->id = lane->link->id;
		__entry->lane = lane->index;
		__entry->from = from;
		__entry->to = to;
		__entry->reason = READ_ONCE(lane->reason);
	),
	TP_printk("link=%016llx lane=%u from=%s to=%s reason=%s", __entry->id, __entry->lane,
		  rchar_trace_word(__entry->from, RCHAR_LANE_STATE_NAMES),
		  rchar_trace_word(__entry->to, RCHAR_LANE_STATE_NAMES),
		  rchar_trace_word(__entry->reason, RCHAR_REASON_NAMES))
);

TRACE_EVENT(rchar_session_state,
	TP_PROTO(const struct rchar_session *session, int from,
		 int to),
	TP_ARGS(session, from, to),
	TP_STRUCT__entry(
		__field(u64, link)
		__field(u32, id)
		__field(bool, initiator)
		__field(int, from)
		__field(int, to)
		__field(int, reason)
	),
	TP_fast_assign(
		__entry->link = session->link ? session->link->id : 0;
		__entry->id = session->id;
		__entry->initiator = session->initiator;
		__entry->from = from;
		__entry->to = to;
		__entry->reason = session->reason;
	),
	TP_printk("link=%016llx session=%u %s from=%s to=%s reason=%s", __entry->link,
		  __entry->id, __entry->initiator ? "initiator" : "acceptor",
		  rchar_trace_word(__entry->from, RCHAR_SESSION_STATE_NAMES),
		  rchar_trace_word(__entry->to, RCHAR_SESSION_STATE_NAMES),
		  rchar_trace_word(__entry->reason, RCHAR_REASON_NAMES))
);

DECLARE_EVENT_CLASS(rchar_frame,
	TP_PROTO(const struct rchar_lane *lane, const struct rchar_hdr *hdr),
	TP_ARGS(lane, hdr),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(u8, op)
		__field(u8, flags)
		__field(u16, credits)
		__field(u32, len)
		__field(u32, session)
		__field(u32, seq)
		__field(u32, ack)
		__field(u32, window)
	),
	TP_fast_assign(
		__entry->id = lane->link->id;
		__entry->op = hdr->op;
		__entry->flags = hdr->flags;
		__entry->credits = hdr->credits;
		__entry->len = hdr->len;
		__entry->session = hdr->session;
		__entry->seq = hdr->seq;
		__entry->ack = hdr->ack;
		__entry->window = hdr->window;
	),
	TP_printk("link=%016llx op=%s flags=%s credits=%u len=%u session=%u seq=%u ack=%u window=%u",
		  __entry->id, rchar_trace_word(__entry->op, RCHAR_OP_NAMES),
		  rchar_trace_flags(__entry->flags), __entry->credits, __entry->len,
		  __entry->session, __entry->seq, __entry->ack, __entry->window)
);

DEFINE_EVENT(rchar_frame, rchar_frame_tx,
	TP_PROTO(const struct rchar_lane *lane, const struct rchar_hdr *hdr),
	TP_ARGS(lane, hdr));

DEFINE_EVENT(rchar_frame, rchar_frame_rx,
	TP_PROTO(const struct rchar_lane *lane, const struct rchar_hdr *hdr),
	TP_ARGS(lane, hdr));

TRACE_EVENT(rchar_bad_frame,
	TP_PROTO(const struct rchar_lane *lane, const struct rchar_hdr *hdr, int err),
	TP_ARGS(lane, hdr, err),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(u8, op)
		__field(u32, seq)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->id = lane->link->id;
		__entry->op = hdr->op;
		__entry->seq = hdr->seq;
		__entry->err = err;
	),
	TP_printk("link=%016llx op=%s seq=%u error=%d", __entry->id,
		  rchar_trace_word(__entry->op, RCHAR_OP_NAMES), __entry->seq, __entry->err)
);

TRACE_EVENT(rchar_wc_error,
	TP_PROTO(const struct rchar_lane *lane, const char *queue, int status),
	TP_ARGS(lane, queue, status),
	TP_STRUCT__entry(
		__field(u64, id)
		__array(char, queue, 8)
		__field(int, status)
		__array(char, text, 40)
	),
	TP_fast_assign(
		__entry->id = lane->link->id;
		strscpy(__entry->queue, queue, sizeof(__entry->queue));
		__entry->status = status;
		strscpy(__entry->text, ib_wc_status_msg(status), sizeof(__entry->text));
	),
	TP_printk("link=%016llx queue=%s status=%d (%s)", __entry->id, __entry->queue,
		  __entry->status, __entry->text)
);

TRACE_EVENT(rchar_cm_event,
	TP_PROTO(const struct rchar_lane *lane, int event, int status),
	TP_ARGS(lane, event, status),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(int, event)
		__field(int, status)
		__array(char, text, 32)
	),
	TP_fast_assign(
		__entry->id = lane->link->id;
		__entry->event = event;
		__entry->status = status;
		strscpy(__entry->text, rdma_event_msg(event), sizeof(__entry->text));
	),
	TP_printk("link=%016llx event=%d (%s) status=%d", __entry->id, __entry->event,
		  __entry->text, __entry->status)
);

TRACE_EVENT(rchar_refused,
	TP_PROTO(const struct rdma_cm_id *id, int reason),
	TP_ARGS(id, reason),
	TP_STRUCT__entry(
		__field(int, reason)
	),
	TP_fast_assign(
		__entry->reason = reason;
	),
	TP_printk("reason=%s", rchar_trace_word(__entry->reason, RCHAR_REASON_NAMES))
);

#endif /* RCHAR_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH base
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
