// SPDX-License-Identifier: GPL-2.0
#include "fill.h"
#include <linux/user_namespace.h>
#include <net/netlink.h>
#include "base/account.h"
#include "base/addr.h"
#include "base/ledger.h"
#include "link/cm.h"
#include "link/ibdev.h"
#include "link/lane.h"
#include "link/link.h"
#include "link/psk.h"
#include "session/acl.h"
#include "session/channel.h"
#include "session/session.h"

/*
 * Incremented when a channel is added or deleted, and when a link changes state. A dump that spans
 * an increment is marked with NLM_F_DUMP_INTR. netlink reads 0 as "no generation".
 */
static atomic_t generation = ATOMIC_INIT(1);

/**
 * rchar_fill_generation() - return the generation, for netlink_callback.seq
 */
u32 rchar_fill_generation(void)
{
	return (u32)atomic_read(&generation) ?: 1;
}

/**
 * rchar_fill_changed() - start a new generation, after a dumped object has changed
 */
void rchar_fill_changed(void)
{
	atomic_inc(&generation);
}

static int put_addr(struct sk_buff *skb, int attr, const struct sockaddr_storage *addr)
{
	int len = rchar_addr_len(addr);

	return len ? nla_put(skb, attr, len, addr) : 0;
}

static int put_counter(struct sk_buff *skb, int attr, const atomic64_t *counter)
{
	return nla_put_u64_64bit(skb, attr, atomic64_read(counter), RCHAR_A_STATS_PAD);
}

static int put_traffic(struct sk_buff *skb, const struct rchar_stats *s)
{
	return put_counter(skb, RCHAR_A_STATS_RX_BYTES, &s->rx_bytes) ||
	       put_counter(skb, RCHAR_A_STATS_TX_BYTES, &s->tx_bytes);
}

static int put_channel_stats(struct sk_buff *skb, const struct rchar_stats *s)
{
	struct nlattr *nest = nla_nest_start(skb, RCHAR_A_CHANNEL_STATS);

	if (!nest || put_traffic(skb, s) ||
	    put_counter(skb, RCHAR_A_STATS_SESSIONS, &s->sessions) ||
	    put_counter(skb, RCHAR_A_STATS_OPEN_ERRORS, &s->open_errors) ||
	    put_counter(skb, RCHAR_A_STATS_RESETS, &s->resets) ||
	    put_counter(skb, RCHAR_A_STATS_READS, &s->reads) ||
	    put_counter(skb, RCHAR_A_STATS_WRITES, &s->writes) ||
	    put_counter(skb, RCHAR_A_STATS_CALLS, &s->calls) ||
	    put_counter(skb, RCHAR_A_STATS_RENDEZVOUS_SENT, &s->rndv_sent) ||
	    put_counter(skb, RCHAR_A_STATS_RENDEZVOUS_PLACED, &s->rndv_placed))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_link_stats(struct sk_buff *skb, const struct rchar_stats *s)
{
	struct nlattr *nest = nla_nest_start(skb, RCHAR_A_LINK_STATS);

	if (!nest || put_traffic(skb, s) ||
	    put_counter(skb, RCHAR_A_STATS_RX_FRAMES, &s->rx_frames) ||
	    put_counter(skb, RCHAR_A_STATS_TX_FRAMES, &s->tx_frames) ||
	    put_counter(skb, RCHAR_A_STATS_CONNECTS, &s->connects) ||
	    put_counter(skb, RCHAR_A_STATS_FAILURES, &s->failures) ||
	    put_counter(skb, RCHAR_A_STATS_REPLAYED, &s->replayed) ||
	    put_counter(skb, RCHAR_A_STATS_DUPLICATES, &s->duplicates) ||
	    put_counter(skb, RCHAR_A_STATS_BAD_FRAMES, &s->bad_frames) ||
	    put_counter(skb, RCHAR_A_STATS_CREDIT_STALLS, &s->credit_stalls) ||
	    put_counter(skb, RCHAR_A_STATS_STRAY_FRAMES, &s->stray_frames) ||
	    put_counter(skb, RCHAR_A_STATS_MAP_STALLS, &s->map_stalls))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_settings(struct sk_buff *skb, const struct rchar_config *c)
{
	u32 max_message = READ_ONCE(c->max_message);

	return nla_put_u32(skb, RCHAR_A_CHANNEL_ENCRYPT,
			   c->encrypt ? RCHAR_ENCRYPT_ON : RCHAR_ENCRYPT_OFF) ||
	       nla_put_u32(skb, RCHAR_A_CHANNEL_MODE, c->mode) ||
	       nla_put_u32(skb, RCHAR_A_CHANNEL_UID, from_kuid_munged(&init_user_ns, c->uid)) ||
	       nla_put_u32(skb, RCHAR_A_CHANNEL_GID, from_kgid_munged(&init_user_ns, c->gid)) ||
	       nla_put_u32(skb, RCHAR_A_CHANNEL_WINDOW, READ_ONCE(c->window)) ||
	       nla_put_u32(skb, RCHAR_A_CHANNEL_WINDOW_MAX, READ_ONCE(c->window_max)) ||
	       nla_put_u32(skb, RCHAR_A_CHANNEL_FRAME, READ_ONCE(c->frame)) ||
	       (c->type == RCHAR_TYPE_STREAM &&
		nla_put_u32(skb, RCHAR_A_CHANNEL_RENDEZVOUS_MIN, READ_ONCE(c->rendezvous_min))) ||
	       (max_message && nla_put_u32(skb, RCHAR_A_CHANNEL_MAX_MESSAGE, max_message)) ||
	       nla_put_u32(skb, RCHAR_A_CHANNEL_BACKLOG, READ_ONCE(c->backlog)) ||
	       nla_put_u32(skb, RCHAR_A_CHANNEL_OPEN_TIMEOUT_MS, READ_ONCE(c->open_timeout_ms)) ||
	       nla_put_u32(skb, RCHAR_A_CHANNEL_RECOVERY_TIMEOUT_MS,
			   READ_ONCE(c->recovery_timeout_ms)) ||
	       nla_put_u32(skb, RCHAR_A_CHANNEL_LINGER_MS, READ_ONCE(c->linger_ms)) ||
	       nla_put_u32(skb, RCHAR_A_CHANNEL_PRIORITY, READ_ONCE(c->priority));
}

/* The settings of the link, which only a channel that connects has. */
static int put_link_settings(struct sk_buff *skb, const struct rchar_config *c)
{
	if (c->role != RCHAR_ROLE_CONNECT)
		return 0;
	return nla_put_u32(skb, RCHAR_A_CHANNEL_LANES, c->lanes) ||
	       nla_put_u32(skb, RCHAR_A_CHANNEL_KEEPALIVE_MS, c->keepalive_ms) ||
	       nla_put_u32(skb, RCHAR_A_CHANNEL_TOS, c->tos);
}

static int put_channel_state(struct sk_buff *skb, struct rchar_channel *channel)
{
	enum rchar_channel_state state;
	enum rchar_reason reason;
	u64 age_ms;

	state = rchar_channel_state(channel, &reason, &age_ms);
	if (nla_put_u32(skb, RCHAR_A_CHANNEL_STATE, state))
		return -EMSGSIZE;
	if (!reason)
		return 0;
	return nla_put_u32(skb, RCHAR_A_CHANNEL_REASON, reason) ||
	       nla_put_u64_64bit(skb, RCHAR_A_CHANNEL_REASON_AGE_MS, age_ms, RCHAR_A_CHANNEL_PAD);
}

static int put_memory(struct sk_buff *skb, const struct rchar_channel *channel)
{
	const struct rchar_config *c = &channel->config;

	if (c->type != RCHAR_TYPE_MEMORY)
		return 0;
	if (c->size &&
	    (nla_put_u64_64bit(skb, RCHAR_A_CHANNEL_SIZE, c->size, RCHAR_A_CHANNEL_PAD) ||
	     nla_put_u32(skb, RCHAR_A_CHANNEL_ACCESS, c->access) ||
	     nla_put_u32(skb, RCHAR_A_CHANNEL_ATOMICS, c->atomics)))
		return -EMSGSIZE;
	return nla_put_u64_64bit(skb, RCHAR_A_CHANNEL_PINNED, atomic64_read(&channel->pinned),
				 RCHAR_A_CHANNEL_PAD);
}

static int put_keys(struct sk_buff *skb, const struct rchar_acl *acl)
{
	unsigned int i;

	for (i = 0; i < acl->nr_psks; i++) {
		const struct rchar_psk *psk = acl->psks[i];

		if (nla_put_string(skb,
				   rchar_psk_deleted(psk) ? RCHAR_A_CHANNEL_KEY_DELETED :
							    RCHAR_A_CHANNEL_KEY,
				   psk->name))
			return -EMSGSIZE;
	}
	return 0;
}

/* Under RCU, as an event may find the channel while its access list changes. */
static int put_acl(struct sk_buff *skb, struct rchar_channel *channel)
{
	const struct rchar_acl *acl;
	unsigned int i;
	int ret = 0;

	rcu_read_lock();
	acl = rcu_dereference(channel->acl);
	if (acl)
		ret = put_keys(skb, acl);
	for (i = 0; !ret && acl && i < acl->nr_prefixes; i++)
		ret = nla_put(skb, RCHAR_A_CHANNEL_ALLOW, sizeof(acl->prefixes[i]),
			      &acl->prefixes[i]);
	rcu_read_unlock();
	return ret;
}

static int put_link_id(struct sk_buff *skb, struct rchar_channel *channel)
{
	struct rchar_link *link = READ_ONCE(channel->link);

	if (READ_ONCE(channel->dead) || !link)
		return 0;
	return nla_put_u64_64bit(skb, RCHAR_A_CHANNEL_LINK_ID, link->serial, RCHAR_A_CHANNEL_PAD);
}

/**
 * rchar_fill_channel() - add all attributes of a channel to a message
 * @skb: the message
 * @channel: the channel
 *
 * Context: as rchar_channel_state().
 * Return: 0, or non-zero when the attributes do not fit.
 */
int rchar_fill_channel(struct sk_buff *skb, struct rchar_channel *channel)
{
	const struct rchar_config *c = &channel->config;

	if (nla_put_string(skb, RCHAR_A_CHANNEL_NAME, c->name) ||
	    nla_put_u32(skb, RCHAR_A_CHANNEL_TYPE, c->type) ||
	    nla_put_u32(skb, RCHAR_A_CHANNEL_ROLE, c->role) ||
	    put_addr(skb, RCHAR_A_CHANNEL_LOCAL, &c->local) ||
	    put_addr(skb, RCHAR_A_CHANNEL_PEER, &c->peer) ||
	    (c->remote[0] && nla_put_string(skb, RCHAR_A_CHANNEL_REMOTE, c->remote)) ||
	    put_channel_state(skb, channel) || put_settings(skb, c) || put_link_settings(skb, c) ||
	    put_acl(skb, channel) || put_memory(skb, channel) ||
	    nla_put_u32(skb, RCHAR_A_CHANNEL_DEV_MAJOR, MAJOR(channel->dev.devt)) ||
	    nla_put_u32(skb, RCHAR_A_CHANNEL_DEV_MINOR, MINOR(channel->dev.devt)) ||
	    nla_put_u32(skb, RCHAR_A_CHANNEL_SESSIONS, READ_ONCE(channel->nr_sessions)) ||
	    nla_put_u32(skb, RCHAR_A_CHANNEL_WAITING, READ_ONCE(channel->nr_waiting)) ||
	    put_link_id(skb, channel))
		return -EMSGSIZE;
	return put_channel_stats(skb, &channel->stats);
}

static int put_rtt(struct sk_buff *skb, u32 rtt_ns)
{
	return rtt_ns ? nla_put_u32(skb, RCHAR_A_LANE_RTT_NS, rtt_ns) : 0;
}

/* Counters of the flow and the lane are read without the flow's lock and may be inconsistent. */
static int put_lane(struct sk_buff *skb, const struct rchar_lane *lane, bool admin)
{
	struct nlattr *nest = nla_nest_start(skb, RCHAR_A_LINK_LANE);

	if (!nest || nla_put_u32(skb, RCHAR_A_LANE_INDEX, lane->index))
		return -EMSGSIZE;
	if (READ_ONCE(lane->state) == RCHAR_LANE_UP &&
	    (nla_put_string(skb, RCHAR_A_LANE_DEVICE, lane->device) ||
	     nla_put_u32(skb, RCHAR_A_LANE_DEVICE_PORT, lane->port) ||
	     (admin && nla_put_u32(skb, RCHAR_A_LANE_QPN, lane->qpn)) ||
	     nla_put_u32(skb, RCHAR_A_LANE_TX_CREDITS,
			 data_race(rchar_credits_total(&lane->tx.credit.tx))) || /* a hint */
	     nla_put_u32(skb, RCHAR_A_LANE_UNACKED,
			 data_race(lane->flow->nr_queued)) || /* a hint */
	     nla_put_u32(skb, RCHAR_A_LANE_FRAME_SIZE, READ_ONCE(lane->flow->traffic->tx_max)) ||
	     nla_put_u32(skb, RCHAR_A_LANE_DEPTH, data_race(lane->rx.nr)) || /* a hint */
	     nla_put_u32(skb, RCHAR_A_LANE_READS, lane->onesided.reads_max) ||
	     nla_put_u32(skb, RCHAR_A_LANE_VECTOR, lane->vector) ||
	     put_rtt(skb, READ_ONCE(lane->tx.inflight.rtt_ns))))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_key_name(struct sk_buff *skb, int attr, const struct rchar_link *link)
{
	return link->psk ? nla_put_string(skb, attr, rchar_link_key_name(link)) : 0;
}

static int put_link_state(struct sk_buff *skb, const struct rchar_link *link)
{
	long next = link->next_at - jiffies;

	if (nla_put_u32(skb, RCHAR_A_LINK_STATE, link->state) ||
	    nla_put_u32(skb, RCHAR_A_LINK_ATTEMPTS, link->failures))
		return -EMSGSIZE;
	if (link->reason &&
	    (nla_put_u32(skb, RCHAR_A_LINK_REASON, link->reason) ||
	     nla_put_u64_64bit(skb, RCHAR_A_LINK_REASON_AGE_MS,
			       jiffies64_to_msecs(jiffies - link->reason_at), RCHAR_A_LINK_PAD)))
		return -EMSGSIZE;
	if (link->initiator && link->state == RCHAR_LINK_DOWN)
		return nla_put_u32(skb, RCHAR_A_LINK_NEXT_MS,
				   next > 0 ? jiffies_to_msecs(next) : 0);
	return 0;
}

/* A program on the peer's host could use these values to request a connection of this link. */
static int put_link_secrets(struct sk_buff *skb, const struct rchar_link *link)
{
	return nla_put_u32(skb, RCHAR_A_LINK_EPOCH, READ_ONCE(link->epoch)) ||
	       nla_put_u64_64bit(skb, RCHAR_A_LINK_WIRE_ID, link->id, RCHAR_A_LINK_PAD);
}

/**
 * rchar_fill_link() - add all attributes of a link and its lanes to a message
 * @skb: the message
 * @link: the link; the caller holds a reference
 * @admin: add the attributes that require CAP_NET_ADMIN, too
 *
 * Return: 0, or non-zero when the attributes do not fit.
 */
int rchar_fill_link(struct sk_buff *skb, struct rchar_link *link, bool admin)
{
	int i, ret;

	if (nla_put_u64_64bit(skb, RCHAR_A_LINK_ID, link->serial, RCHAR_A_LINK_PAD) ||
	    nla_put_u32(skb, RCHAR_A_LINK_INITIATOR, link->initiator) ||
	    put_key_name(skb, RCHAR_A_LINK_KEY, link) ||
	    nla_put_u32(skb, RCHAR_A_LINK_ENCRYPTED, link->encrypted) ||
	    nla_put_u32(skb, RCHAR_A_LINK_KEEPALIVE_MS, READ_ONCE(link->keepalive_ms)) ||
	    (link->initiator && nla_put_u32(skb, RCHAR_A_LINK_TOS, link->settings.tos)) ||
	    nla_put_u32(skb, RCHAR_A_LINK_SESSIONS, atomic_read(&link->nr_sessions)))
		return -EMSGSIZE;
	spin_lock_bh(&link->lock);
	ret = put_addr(skb, RCHAR_A_LINK_LOCAL, &link->local) ||
	      put_addr(skb, RCHAR_A_LINK_PEER, &link->peer) || put_link_state(skb, link);
	if (!ret && admin)
		ret = put_link_secrets(skb, link);
	for (i = 0; !ret && i < link->nr_lanes; i++)
		if (link->lanes[i])
			ret = put_lane(skb, link->lanes[i], admin);
	spin_unlock_bh(&link->lock);
	return ret ?: put_link_stats(skb, &link->traffic.stats);
}

/**
 * rchar_fill_session_locked() - rchar_fill_session() for callers that hold the lock
 * @skb: the message
 * @session: the session; its lock is held
 *
 * Return: 0, or non-zero when the attributes do not fit.
 */
int rchar_fill_session_locked(struct sk_buff *skb, struct rchar_session *session)
{
	struct rchar_link *link = session->link;
	struct sockaddr_storage peer;

	lockdep_assert_held(&session->lock);
	if (nla_put_u32(skb, RCHAR_A_SESSION_ID, session->id) ||
	    nla_put_u32(skb, RCHAR_A_SESSION_INITIATOR, session->initiator) ||
	    nla_put_string(skb, RCHAR_A_SESSION_CHANNEL, session->channel->config.name) ||
	    nla_put_u32(skb, RCHAR_A_SESSION_STATE, session->state) ||
	    (session->reason && nla_put_u32(skb, RCHAR_A_SESSION_REASON, session->reason)) ||
	    nla_put_u64_64bit(skb, RCHAR_A_SESSION_RX_QUEUED, rchar_session_rx_queued(session),
			      RCHAR_A_SESSION_PAD) ||
	    nla_put_u64_64bit(skb, RCHAR_A_SESSION_RX_MEMORY, session->rx.memory,
			      RCHAR_A_SESSION_PAD) ||
	    nla_put_u64_64bit(skb, RCHAR_A_SESSION_TX_UNACKED, rchar_session_tx_unacked(session),
			      RCHAR_A_SESSION_PAD) ||
	    nla_put_u64_64bit(skb, RCHAR_A_SESSION_TX_WINDOW, rchar_session_tx_room(session),
			      RCHAR_A_SESSION_PAD) ||
	    nla_put_u64_64bit(skb, RCHAR_A_SESSION_AGE_MS,
			      jiffies64_to_msecs(jiffies - session->created),
			      RCHAR_A_SESSION_PAD) ||
	    nla_put_u64_64bit(skb, RCHAR_A_SESSION_RX_BYTES, atomic64_read(&session->rx_bytes),
			      RCHAR_A_SESSION_PAD) ||
	    nla_put_u64_64bit(skb, RCHAR_A_SESSION_TX_BYTES, atomic64_read(&session->tx_bytes),
			      RCHAR_A_SESSION_PAD) ||
	    nla_put_u64_64bit(skb, RCHAR_A_SESSION_RX_WINDOW, session->window, RCHAR_A_SESSION_PAD))
		return -EMSGSIZE;
	if (!link)
		return 0;
	rchar_link_ends(link, NULL, &peer);
	return nla_put_u64_64bit(skb, RCHAR_A_SESSION_LINK_ID, link->serial, RCHAR_A_SESSION_PAD) ||
	       put_key_name(skb, RCHAR_A_SESSION_KEY, link) ||
	       nla_put_u32(skb, RCHAR_A_SESSION_ENCRYPTED, link->encrypted) ||
	       put_addr(skb, RCHAR_A_SESSION_PEER, &peer);
}

/**
 * rchar_fill_session() - add all attributes of a session to a message
 * @skb: the message
 * @session: the session; the caller holds a reference
 *
 * Return: 0, or non-zero when the attributes do not fit.
 */
int rchar_fill_session(struct sk_buff *skb, struct rchar_session *session)
{
	int ret;

	spin_lock_bh(&session->lock);
	ret = rchar_fill_session_locked(skb, session);
	spin_unlock_bh(&session->lock);
	return ret;
}

/**
 * rchar_fill_key_name() - add what everybody may know of a key to a message
 * @skb: the message
 * @psk: the key
 *
 * Return: 0, or non-zero when the attributes do not fit.
 */
int rchar_fill_key_name(struct sk_buff *skb, const struct rchar_psk *psk)
{
	return nla_put_string(skb, RCHAR_A_KEY_NAME, psk->name);
}

/**
 * rchar_fill_key() - add all attributes of a key, but not its secret, to a message
 * @skb: the message
 * @psk: the key
 *
 * Return: 0, or non-zero when the attributes do not fit.
 */
int rchar_fill_key(struct sk_buff *skb, const struct rchar_psk *psk)
{
	return rchar_fill_key_name(skb, psk) ||
	       nla_put(skb, RCHAR_A_KEY_FINGERPRINT, sizeof(psk->key.fingerprint),
		       psk->key.fingerprint) ||
	       nla_put_u32(skb, RCHAR_A_KEY_CHANNELS, atomic_read(&psk->channels)) ||
	       nla_put_u32(skb, RCHAR_A_KEY_LINKS, atomic_read(&psk->links));
}

/**
 * rchar_fill_info() - add all attributes of the module to a message
 * @skb: the message
 *
 * Return: 0, or non-zero when the attributes do not fit.
 */
int rchar_fill_info(struct sk_buff *skb)
{
	struct rchar_cm_counts counts = rchar_cm_counts();

	return nla_put_string(skb, RCHAR_A_INFO_VERSION, RCHAR_VERSION) ||
	       nla_put_u32(skb, RCHAR_A_INFO_PROTOCOL, RCHAR_WIRE_MAJOR << 8 | RCHAR_WIRE_MINOR) ||
	       nla_put_u32(skb, RCHAR_A_INFO_CHANNELS, rchar_ledger_count(RCHAR_OBJ_CHANNEL)) ||
	       nla_put_u32(skb, RCHAR_A_INFO_LINKS, rchar_ledger_count(RCHAR_OBJ_LINK)) ||
	       nla_put_u32(skb, RCHAR_A_INFO_DEVICES, rchar_ibdev_count()) ||
	       nla_put_u64_64bit(skb, RCHAR_A_INFO_REQUESTS_ACCEPTED, counts.accepted,
				 RCHAR_A_INFO_PAD) ||
	       nla_put_u64_64bit(skb, RCHAR_A_INFO_REQUESTS_REFUSED, counts.refused,
				 RCHAR_A_INFO_PAD) ||
	       nla_put_u64_64bit(skb, RCHAR_A_INFO_REQUESTS_BAD, counts.bad, RCHAR_A_INFO_PAD) ||
	       nla_put_u64_64bit(skb, RCHAR_A_INFO_BAD_FRAMES, rchar_link_bad_frames(),
				 RCHAR_A_INFO_PAD) ||
	       nla_put_u64_64bit(skb, RCHAR_A_INFO_PEER_MEMORY, rchar_account_held(),
				 RCHAR_A_INFO_PAD) ||
	       nla_put_u64_64bit(skb, RCHAR_A_INFO_REQUESTS_DENIED, counts.denied,
				 RCHAR_A_INFO_PAD) ||
	       nla_put_u32(skb, RCHAR_A_INFO_KEYS, rchar_ledger_count(RCHAR_OBJ_PSK));
}
