/* SPDX-License-Identifier: GPL-2.0 */
/* Interfaces that the session files share with each other and with the types. */
#ifndef RCHAR_SESSION_PRIV_H
#define RCHAR_SESSION_PRIV_H

#include "link/txbuf.h"
#include "session.h"

extern struct workqueue_struct *rchar_session_wq;

struct rchar_rxbuf;
struct rchar_seg;

/*
 * Limit of the replies that may wait on one flow. Each OPEN, CALL or RNDV of the peer asks for a
 * reply. A peer that keeps asking and takes no replies loses the connection.
 */
#define RCHAR_REPLIES_MAX  2048
/*
 * Bytes that a session is assumed to use, with its OPENED, WINDOW and RESET frames. The peer
 * chooses the numbers of its sessions: three nodes of the link's table may have one session only.
 */
#define RCHAR_SESSION_COST (1024 + 3 * RCHAR_TXBUF_COST + 3 * sizeof(struct xa_node))

struct rchar_session *rchar_session_create(struct rchar_channel *channel,
					   enum rchar_session_state state, gfp_t gfp);
void rchar_session_add(struct rchar_session *s);
void rchar_session_discard(struct rchar_session *s);
void rchar_session_unlist_waiting(struct rchar_session *s);
void rchar_session_held_by_program(struct rchar_session *s);
void rchar_session_recount(struct rchar_session *s);
bool rchar_session_may_linger(struct rchar_session *s);
void rchar_session_release(struct rchar_session *s);
enum rchar_reason rchar_session_hold_importer(struct rchar_session *s, struct rchar_link *link,
					      u64 bytes, struct rchar_common_held *common,
					      u64 common_bytes);
void rchar_session_unhold_importer(struct rchar_session *s, struct rchar_link *link);
void rchar_session_importer_gone(struct rchar_session *s);
void rchar_session_bind(struct rchar_session *s, struct rchar_link *link, u32 id);
void rchar_session_set_opened(struct rchar_session *s, u32 peer_window, u32 peer_max_message);
void rchar_session_frame_queued(struct rchar_session *s, const struct rchar_txbuf *txb);
void rchar_session_frame_gone(struct rchar_session *s, const struct rchar_txbuf *txb);
void rchar_session_wake(struct rchar_session *s);
bool rchar_session_move(struct rchar_session *s, enum rchar_session_state to);
void rchar_session_rearm(struct rchar_session *s);
void rchar_session_timer_work(struct work_struct *work);
int rchar_session_receive(struct rchar_traffic *traffic, const struct rchar_hdr *hdr,
			  struct rchar_rxbuf *rxb, enum rchar_frame_error *err);
void rchar_session_fill_status(struct rchar_txbuf *txb, enum rchar_reason reason);
/* Do more than RCHAR_REPLIES_MAX replies wait on the flow? */
static inline bool rchar_session_too_many_replies(const struct rchar_flow *flow)
{
	return READ_ONCE(flow->nr_replies) > RCHAR_REPLIES_MAX;
}

/* FIN waits until frames, or a rendezvous, have carried the bytes counted in @tx.unframed. */
static inline u32 rchar_session_wanted_now(const struct rchar_session *s)
{
	return s->tx.unframed ? s->wanted & ~BIT(RCHAR_OP_FIN) : s->wanted;
}

/* The program has closed the file or shut its reading half: data that arrives is dropped. */
static inline bool rchar_session_data_unwanted(const struct rchar_session *s)
{
	return s->state == RCHAR_SESSION_CLOSING || s->shut & RCHAR_SESSION_STOP_SENT;
}

/* May the peer send frames with data in this state? */
static inline bool rchar_session_data_expected(const struct rchar_session *s)
{
	return s->state != RCHAR_SESSION_OPENING && !(s->shut & RCHAR_SESSION_FIN_RECEIVED);
}

void rchar_session_send_wanted(struct rchar_session *s);
int rchar_session_submit_locked(struct rchar_session *s, struct list_head *frames);
bool rchar_session_take_window(struct rchar_session *s, u32 len, u32 cost);
void rchar_session_queue_seg(struct rchar_session *s, struct rchar_seg *seg);
void rchar_session_queue_payload(struct rchar_session *s, struct rchar_rxbuf *rxb, u32 len);
void rchar_session_tell_reader(struct rchar_session *s);
void rchar_session_deliver(struct rchar_session *s, struct list_head *segs);
void rchar_session_die(struct rchar_session *s, enum rchar_reason reason, int error);
void rchar_session_cut_locked(struct rchar_session *s, enum rchar_reason reason);
void rchar_session_fail_locked(struct rchar_session *s, enum rchar_reason reason);
void rchar_session_maybe_finish(struct rchar_session *s);
void rchar_session_shut(struct rchar_session *s, u8 halves);
int rchar_session_receive_open(struct rchar_link *link, const struct rchar_hdr *hdr,
			       struct rchar_rxbuf *rxb, enum rchar_frame_error *err);

#endif /* RCHAR_SESSION_PRIV_H */
