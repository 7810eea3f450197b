/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of fuzzpeer. */
#ifndef FUZZ_PEERPLAY_H
#define FUZZ_PEERPLAY_H

#include "../helpers/seal.h"
#include "common.h"

#define NR_SESSIONS 10
#define NR_LANES    4
#define NR_KEYS	    16
#define KEPT	    64		 /* frames that may have to be sent again; of more nobody knows */
#define OWN	    (256u << 10) /* bytes of ours that the module may be told to reach */
#define OWN_PORT    7999

/* A good peer's view of a session, as far as it makes frames that mean something. */
struct session {
	enum { FREE, OPENING, OPENED, OVER } state;
	uint32_t id;
	int type;
	uint32_t sent, edge; /* bytes: sent, and allowed */
	uint32_t got, given; /* bytes: received, and allowed to the module */
	uint32_t max_message, in_message;
	bool fin; /* we sent it */
	/* what the module offered, until we answered */
	bool offered;
	struct rchar_wire_rndv offer;
	/* what we offered: bytes that were not taken */
	uint32_t rndv_id, rndv_left;
	uint32_t keys[NR_KEYS];
	int nr_keys, shift;
	uint64_t size;
	uint32_t call_id;
};

struct lane {
	struct conn c;
	bool there;	       /* has resources */
	bool up;	       /* greeted */
	bool greeted;	       /* just now, by who called: what it lacks comes next */
	int credits;	       /* frames that we may send */
	int small;	       /* the first of them are for small buffers */
	bool grows;	       /* we said RCHAR_CAP_GROWS: what we grant at first is small */
	int under_way;	       /* sends that have not completed */
	unsigned int withheld; /* buffers that the module is not told of */
	uint32_t own_key;      /* of own_memory, for the module */
	bool keyed;	       /* the handshake uses fuzz_key */
	bool encrypted;	       /* and frames are sealed */
	struct seal seal;
	struct psk_transcript said;
	struct spare *spare; /* its buffers */
};

/* How a connection misbehaves. */
struct mood {
	uint32_t mutate; /* one frame in so many; 0: none */
	bool no_credits, no_acks, no_reading;
};

struct peer {
	struct rng rng;
	bool initiator;
	bool keyed;	/* links of ours use fuzz_key */
	bool encrypted; /* and are encrypted */
	struct mood mood;
	struct rchar_wire_privdata conn; /* what we said; of the acceptor: what it said */
	struct lane lanes[NR_LANES];
	int nr_lanes;
	struct session sessions[NR_SESSIONS];
	uint32_t next_id;
	uint32_t stale_keys[NR_KEYS]; /* of sessions and connections before */
	struct frame last;	      /* to send again, wrongly */
	int last_len;
	struct frame kept[NR_LANES][KEPT];
	/* of each lane, when its connection ended */
	uint32_t next_seq[NR_LANES], acks[NR_LANES];
};

enum {
	FRAMES,
	REQUESTS,
	RDMAS,
	GOOD,
	UP,
	KEYED,
	SEALED,
	REFUSED,
	BROKEN,
	KILLED,
	OPENS,
	LOCAL_IO,
	HEARD,
	DIAL_MS,
	GREET_MS,
	CREDIT_MS,
	PLAY_MS
};

extern uint8_t own_memory[OWN];
extern struct psk fuzz_key; /* of a secret that the module has, too */

/* peerlink.c */
int dial_any(struct peer *p, struct lane *l, const struct rchar_wire_privdata *req, int len,
	     int wait_ms);
int answer_any(struct peer *p, struct lane *l, struct rdma_cm_id *id,
	       const struct rchar_wire_privdata *rep, int len);
void drop_lane(struct lane *l, struct rng *r);
bool listen_here(struct conn *listener);
void pump(struct peer *p, struct lane *l, int ms);
bool post_bytes(struct peer *p, struct lane *l, const struct frame *f, int len);
bool post_rdma(struct peer *p, struct lane *l, int opcode, uint32_t key, uint64_t at, uint32_t len);
bool greet(struct peer *p, struct lane *l, int op, const uint8_t *nonce);

/* peerplay.c */
void heard(struct peer *p, struct lane *l, const struct frame *f, uint32_t len);
void play(struct peer *p);
void forget_sessions(struct peer *p);
void keep_sessions(struct peer *p, struct lane *l);
void replay(struct peer *p, struct lane *l);
void mutate_conn(struct rng *r, struct rchar_wire_privdata *conn);
struct mood some_mood(struct rng *r);

/* peerlocal.c */
void use_nodes(struct rng *r);

#endif /* FUZZ_PEERPLAY_H */
