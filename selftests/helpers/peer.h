/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A peer written with verbs in user space, by Documentation/protocol.rst alone: it shares
 * the header of the wire format with the module and nothing else.
 */
#ifndef PEER_H
#define PEER_H

#include <endian.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>
#include "linux/rdma_char.h"
#include "../../kmod/proto/wire.h"
#include "../lib/test.h"

#define DEPTH 32
#define SENDS 32 /* buffers to send from, used in turn; so many may be on their way */
#define FRAME 16384
#define BUF   (sizeof(struct rchar_wire_sealed_hdr) + FRAME)

struct frame;
struct seal;

struct conn {
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	struct ibv_qp *qp;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *mem; /* DEPTH receive buffers, then SENDS to send from */
	unsigned int sent;
	struct rchar_wire_privdata reply;
	uint32_t peer_qpn;
	int may_read, reads; /* at once, by the reply: of ours at the module, and of its own here */
	uint32_t seq, ack;
	int granted;
	int reject_reason; /* of a rejected request; 0: none, -1: not ours */
	bool gone;
	bool invalidates; /* what is sent invalidates this key of the module */
	uint32_t invalidate_key;
	uint8_t peer_public[32]; /* after the private data of a reply */
	struct seal *seal;	 /* of an encrypted connection: seal.h */
	int (*wrap)(struct conn *c, uint8_t *out, const struct frame *f);
	bool (*unwrap)(struct conn *c, struct frame *f, const uint8_t *in, int len);
};

struct frame {
	struct rchar_wire_hdr h;
	uint8_t payload[FRAME];
};

extern const char *peer_addr;
extern const char *peer_source; /* the address to connect from; NULL: any */
extern bool peer_is_patient;	/* waits for receive buffers, for as long as it takes */
extern int links_made;		/* of their own ids */

/* Between two looks at a completion queue: what comes is answered at once. */
static inline void cq_pause(void)
{
	usleep(100);
}

void bail(const char *what);
/* A command, which must succeed. */
void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The number that a command prints. */
long shell_number(const char *text);
/* Most entries of one list that the module has looked at since, of those that a peer makes long. */
long longest_walk(void);
void forget_walks(void);
int next_event(struct conn *c, int ms);
void good_request(struct rchar_wire_privdata *r);
void good_reply(struct rchar_wire_privdata *r, const struct rchar_wire_privdata *request);
void setup_qp(struct conn *c);
void wait_for_request(struct conn *c, const char *port);
void dial_prepare(struct conn *c);
void dial_as(struct conn *c, const struct rchar_wire_privdata *req, int len, uint32_t qpn);
void dial_begin(struct conn *c, const struct rchar_wire_privdata *req, int len);
int dial_end(struct conn *c);
int dial(struct conn *c, const struct rchar_wire_privdata *req, int len);
void hang_up(struct conn *c);
void send_raw(struct conn *c, const void *data, int len);
void fill(struct conn *c, struct frame *f, int op, uint32_t session, uint32_t len);
/* READY, with that MAC; returns the frame. */
struct frame *fill_ready(struct conn *c, struct frame *f, const uint8_t *mac);
void send_frame(struct conn *c, struct frame *f);
int receive(struct conn *c, struct frame *f, int ms);
int receive_op(struct conn *c, struct frame *f, int op);
void use_up_small(struct conn *c);
void connect_with(struct conn *c, const struct rchar_wire_privdata *request);
void link_up(struct conn *c, struct rchar_wire_privdata *next);
void connect_well(struct conn *c);
void accept_well(struct conn *c, const char *port);
void fill_open(struct conn *c, struct frame *f, uint32_t session, const char *name, int type,
	       uint32_t max_message);
void send_open(struct conn *c, const char *name, int type, uint32_t max_message);
bool rdma_by(struct conn *c, int opcode, void *mem, const struct ibv_mr *mr, uint32_t key,
	     uint64_t addr, uint32_t len);
void result(const char *name, bool ok);
bool disconnected(struct conn *c);
bool alive(struct conn *c);
bool hello(struct conn *c, int spoil);

#endif /* PEER_H */
