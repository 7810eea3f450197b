// SPDX-License-Identifier: GPL-2.0
/*
 * badreq ADDR MOVED - connection requests whose addresses are not true, or whose path MTU does not
 * exist, beside a link that is up and that they name.
 *
 * No CM sends such a request, so it is written by hand (IBTA vol 1, 12.6.5 and A11.6) and goes
 * out through /dev/infiniband/umad0. The answer does not come back there: of a class and method
 * only one agent gets the MADs, and for these it is the kernel's CM (find_mad_agent() in
 * drivers/infiniband/core/mad.c). What the module decided is seen in its counters, in those of
 * the CM, and in the kernel's log.
 *
 * The caller has made listening channels at ADDR, at [fd00::1] of the same interface, and at
 * MOVED, its link-local address, which it has then moved to another interface; and has given
 * ADDR's interface the address 10.0.0.99. TAP lines; the plan is the caller's.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/ib_user_mad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "peer.h"

#define FORGER	  "10.0.0.99"
#define NOBODY	  "10.0.0.77"
#define V6	  "fd00::1"
#define V6_NOBODY "fd00::77"
#define PORT	  4660 /* that the requests claim */

/* ---- what a request is made of ---- */

struct mad_hdr {
	uint8_t base_version, mgmt_class, class_version, method;
	uint16_t status, specific;
	uint64_t tid;
	uint16_t attr_id, reserved;
	uint32_t attr_mod;
};

/* What an RDMA CM puts before the private data of its user. */
struct cma_hdr {
	uint8_t version, ip_version;
	uint16_t port;
	uint8_t src[16], dst[16];
};

struct cm_req {
	struct mad_hdr hdr;
	uint32_t local_comm_id, reserved1;
	uint64_t service_id, local_ca_guid;
	uint32_t reserved2, local_qkey;
	uint32_t qpn_resources;	      /* 24 bits and 8 */
	uint32_t eecn_depth;	      /* 24, 8 */
	uint32_t remote_eecn_timeout; /* 24, 5 of time-out, 2 of service, 1 */
	uint32_t psn_timeout;	      /* 24, 5 of time-out, 3 of retries */
	uint16_t pkey;
	uint8_t mtu_rnr;     /* 4, 1, 3 */
	uint8_t retries_srq; /* 4, 1, 3 */
	uint16_t local_lid, remote_lid;
	uint8_t local_gid[16], remote_gid[16];
	uint32_t flow_rate;
	uint8_t traffic_class, hop_limit;
	uint8_t sl_local;    /* 4, 1 of being in the subnet */
	uint8_t ack_timeout; /* 5 */
	uint8_t alternate[44];
	struct cma_hdr cma;
	struct rchar_wire_privdata conn;
};

_Static_assert(sizeof(struct cm_req) == 256, "a MAD");

/* Whom it comes from and goes to, and what it says of that. */
struct addresses {
	const char *from, *to;
	const char *claims, *calls;
};

/* ---- sending ---- */

static uint8_t path_mtu = IBV_MTU_1024; /* that the requests ask for */
static uint8_t ack_timeout = 14;	/* that they have: 4.096 us << 14 */
static int umad;
static uint32_t agent;

static void open_umad(void)
{
	struct ib_user_mad_reg_req2 req = { .qpn = 1 };

	umad = open("/dev/infiniband/umad0", O_RDWR);
	if (umad < 0 || ioctl(umad, IB_USER_MAD_REGISTER_AGENT2, &req))
		bail("umad0");
	agent = req.id;
}

static void gid_of(const char *text, uint8_t *gid)
{
	memset(gid, 0, 16);
	if (inet_pton(AF_INET6, text, gid) == 1)
		return;
	memset(gid + 10, 0xff, 2);
	if (inet_pton(AF_INET, text, gid + 12) != 1)
		bail(text);
}

static int gid_index(struct ibv_context *verbs, const char *text)
{
	union ibv_gid want, gid;
	int i;

	gid_of(text, want.raw);
	for (i = 0; !ibv_query_gid(verbs, 1, i, &gid); i++)
		if (!memcmp(&gid, &want, sizeof(gid)))
			return i;
	bail("no such GID");
	return -1;
}

static void fill_cma(struct cma_hdr *h, const struct addresses *a)
{
	h->ip_version = (strchr(a->calls, ':') ? 6 : 4) << 4;
	h->port = htobe16(PORT);
	/* An IPv4 address is the last four bytes. */
	gid_of(a->claims, h->src);
	gid_of(a->calls, h->dst);
}

static void fill_req(struct cm_req *r, const struct addresses *a)
{
	static uint32_t id;

	memset(r, 0, sizeof(*r));
	r->hdr.base_version = 1;
	r->hdr.mgmt_class = 7;
	r->hdr.class_version = 2;
	r->hdr.method = 3;
	r->hdr.tid = htobe64(++id);
	r->hdr.attr_id = htobe16(0x10);
	r->local_comm_id = htobe32(getpid() << 8 | id);
	r->service_id = htobe64((uint64_t)RDMA_PS_TCP << 16 | 7471);
	r->local_ca_guid = htobe64(getpid());
	r->qpn_resources = htobe32((0xf000 + id) << 8 | 1);
	r->eecn_depth = htobe32(1);
	r->remote_eecn_timeout = htobe32(20 << 3);
	r->psn_timeout = htobe32(20 << 3 | 6);
	r->pkey = htobe16(0xffff);
	r->mtu_rnr = path_mtu << 4 | 7;
	r->retries_srq = 1 << 4;
	gid_of(a->from, r->local_gid);
	gid_of(a->to, r->remote_gid);
	r->flow_rate = htobe32(3);
	r->hop_limit = 64;
	r->sl_local = 1 << 3;
	r->ack_timeout = ack_timeout << 3;
	fill_cma(&r->cma, a);
}

static void send_request(struct ibv_context *verbs, const struct addresses *a,
			 const struct rchar_wire_privdata *conn)
{
	struct {
		struct ib_user_mad_hdr hdr;
		struct cm_req req;
	} m = { .hdr = { .id = agent,
			 .qpn = htobe32(1),
			 .qkey = htobe32(0x80010000),
			 .grh_present = 1,
			 .hop_limit = 64,
			 .length = sizeof(m) } };

	m.hdr.gid_index = gid_index(verbs, a->from);
	gid_of(a->to, m.hdr.gid);
	fill_req(&m.req, a);
	m.req.conn = *conn;
	if (write(umad, &m, sizeof(m)) != sizeof(m))
		bail("sending a request");
}

/* ---- what became of it ---- */

struct counts {
	long accepted, refused, bad; /* requests, by the module */
	long replies, rejects;	     /* MADs, as the CM counts those that arrive */
};

static const char *output_of(const char *command)
{
	static char text[65536];
	FILE *p = popen(command, "r");
	size_t len;

	if (!p)
		bail(command);
	len = fread(text, 1, sizeof(text) - 1, p);
	text[len] = 0;
	if (pclose(p))
		bail(command);
	return text;
}

/* Behind the first @key in @json. */
static long number(const char *json, const char *key)
{
	char quoted[64];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = json ? strstr(json, quoted) : NULL;
	return at ? atol(at + strlen(quoted)) : -1;
}

static long cm_received(struct ibv_context *verbs, const char *what)
{
	char command[128];

	snprintf(command, sizeof(command), "cat /sys/class/infiniband/%s/ports/1/cm_rx_msgs/%s",
		 ibv_get_device_name(verbs->device), what);
	return atol(output_of(command));
}

static struct counts count(struct ibv_context *verbs)
{
	const char *json = output_of("rchar -j version");
	struct counts c;

	c.accepted = number(json, "requests_accepted");
	c.refused = number(json, "requests_refused");
	c.bad = number(json, "requests_bad");
	c.replies = cm_received(verbs, "rep");
	c.rejects = cm_received(verbs, "rej");
	return c;
}

/* Has the module decided, and is the answer there that was expected? */
static bool is_over(const struct counts *before, const struct counts *now, bool accepted)
{
	if (accepted && now->accepted > before->accepted)
		return now->replies > before->replies;
	if (!accepted && now->refused > before->refused)
		return now->rejects > before->rejects;
	return now->accepted + now->refused > before->accepted + before->refused;
}

/* What a request changed: @n becomes what has been counted since. @c is kept from being silent. */
static void wait_for(struct conn *c, struct counts *n, bool accepted)
{
	long long end = now_ms() + LONG_MS;
	struct counts before = *n, now;

	do {
		test_pause();
		alive(c);
		now = count(c->id->verbs);
	} while (!is_over(&before, &now, accepted) && now_ms() < end);
	n->accepted = now.accepted - before.accepted;
	n->refused = now.refused - before.refused;
	n->bad = now.bad - before.bad;
	n->replies = now.replies - before.replies;
	n->rejects = now.rejects - before.rejects;
}

/* Does the kernel's log, from where @log is, say why the request was refused? */
static bool told(int log, const struct addresses *a, const char *reason)
{
	char want[128], line[1024];
	bool v6 = strchr(a->claims, ':'), found = false;
	ssize_t len;

	snprintf(want, sizeof(want), "connection request from %s%s%s:%d refused: %s", v6 ? "[" : "",
		 a->claims, v6 ? "]" : "", PORT, reason);
	while (!found && (len = read(log, line, sizeof(line) - 1)) > 0) {
		line[len] = 0;
		found = strstr(line, want);
	}
	return found;
}

/* ---- the link that the requests name ---- */

struct numbers {
	long epoch, qpn, connects, failures;
};

static struct numbers numbers(const struct rchar_wire_privdata *of)
{
	const char *json = output_of("rchar -j link");
	struct numbers n;
	char id[64];

	snprintf(id, sizeof(id), "\"wire_id\":\"%016llx\"",
		 (unsigned long long)le64toh(of->link_id));
	json = strstr(json, id);
	n.epoch = number(json, "epoch");
	n.qpn = number(json, "qpn");
	n.connects = number(json, "connects");
	n.failures = number(json, "failures");
	return n;
}

struct link {
	struct conn c;
	struct rchar_wire_privdata next; /* what its next attempt would ask for */
	struct numbers before;
};

/* The link is lost when this host is so slow that nobody answers a PING until it is asked about. */
static void set_up(struct link *l)
{
	int tries;

	for (tries = 0; tries < 5; tries++) {
		link_up(&l->c, &l->next);
		l->before = numbers(&l->next);
		if (l->before.epoch == (long)le32toh(l->next.epoch))
			return;
		hang_up(&l->c);
	}
	bail("'rchar link' does not know the link");
}

static bool undisturbed(struct link *l)
{
	struct numbers now = numbers(&l->next);

	return alive(&l->c) && !memcmp(&now, &l->before, sizeof(now));
}

/* Had a request been believed, the link would not take this for its next attempt. */
static bool goes_on(struct link *l)
{
	struct conn two;
	bool ok;

	ok = dial(&two, &l->next, sizeof(l->next)) == RDMA_CM_EVENT_ESTABLISHED &&
	     two.reply.epoch == l->next.epoch && hello(&two, 0) && disconnected(&l->c) &&
	     alive(&two);
	hang_up(&two);
	return ok;
}

/* ---- tests ---- */

/* Peers choose the ids of links. What an administrator names one by is this host's number. */
static void copied_id(const char *addr)
{
	struct rchar_wire_privdata next;
	char command[64];
	struct link one;
	struct conn two;
	long n, highest = 0;
	const char *at;
	bool ok;

	peer_addr = addr;
	set_up(&one);
	next = one.next;
	next.attempt = htole32(1);
	next.epoch = 0;
	peer_addr = V6;
	if (dial(&two, &next, sizeof(next)) != RDMA_CM_EVENT_ESTABLISHED || !hello(&two, 0))
		bail("a second link");
	for (at = output_of("rchar -j link"); (at = strstr(at, "\"link\":")); at++)
		if (sscanf(at, "\"link\":%*[\"]%ld", &n) == 1 && n > highest)
			highest = n;
	snprintf(command, sizeof(command), "rchar link reset %ld", highest);
	ok = !system(command) && disconnected(&two) && alive(&one.c);
	result("reset_of_a_link_with_a_copied_id", ok);
	hang_up(&two);
	hang_up(&one.c);
	peer_addr = addr;
}

static bool as_expected(bool ok, const struct addresses *a, const struct counts *n)
{
	if (!ok)
		printf("# from %s, claims %s, calls %s: accepted %ld refused %ld bad %ld replies %ld rejects %ld\n",
		       a->from, a->claims, a->calls, n->accepted, n->refused, n->bad, n->replies,
		       n->rejects);
	return ok;
}

static bool refused(struct link *l, const struct addresses *a,
		    const struct rchar_wire_privdata *conn, const char *reason)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	struct ibv_context *verbs = l->c.id->verbs;
	struct counts n = count(verbs);
	bool ok;

	if (log < 0 || lseek(log, 0, SEEK_END) < 0)
		bail("/dev/kmsg");
	send_request(verbs, a, conn);
	wait_for(&l->c, &n, false);
	ok = told(log, a, reason) && n.bad == 1 && n.refused == 1 && !n.accepted && n.rejects &&
	     undisturbed(l);
	close(log);
	return as_expected(ok, a, &n);
}

static bool answered(struct link *l, const struct addresses *a)
{
	struct ibv_context *verbs = l->c.id->verbs;
	struct counts n = count(verbs);

	send_request(verbs, a, &l->next);
	wait_for(&l->c, &n, true);
	return as_expected(n.accepted == 1 && !n.refused && n.replies && undisturbed(l), a, &n);
}

static void another_address(struct link *l)
{
	const struct addresses theirs = { FORGER, peer_addr, peer_addr, peer_addr };
	const struct addresses nobodys = { peer_addr, peer_addr, NOBODY, peer_addr };
	const struct addresses nobodys6 = { V6, V6, V6_NOBODY, V6 };
	struct rchar_wire_privdata far = l->next;
	bool ok;

	far.attempt = htole32(0x70000000);
	far.epoch = ~far.epoch;
	ok = refused(l, &theirs, &l->next, "address");
	ok &= refused(l, &theirs, &far, "address");
	ok &= refused(l, &nobodys, &l->next, "address");
	ok &= refused(l, &nobodys6, &l->next, "address");
	result("a_request_from_another_address_than_its_gid", ok);
}

/*
 * The CM itself looks for the address among the GIDs of the interface, whose default GID stays
 * when that address goes (cma_validate_port() in drivers/infiniband/core/cma.c).
 */
static void another_interface(struct link *l, const char *moved)
{
	const struct addresses a = { V6, V6, V6, moved };

	result("a_request_to_an_address_of_another_interface", refused(l, &a, &l->next, "address"));
}

/* With an MTU of 0, soft-RoCE makes packets of -1 bytes: the answer to a READ of nothing panics. */
static void impossible_mtu(struct link *l)
{
	const struct addresses links = { peer_addr, peer_addr, peer_addr, peer_addr };
	const uint8_t mtus[] = { 0, IBV_MTU_4096 + 1, 15 };
	bool ok = true;
	size_t i;

	for (i = 0; i < sizeof(mtus); i++) {
		path_mtu = mtus[i];
		ok &= refused(l, &links, &l->next, "protocol");
	}
	path_mtu = IBV_MTU_1024;
	result("a_request_with_an_mtu_that_does_not_exist", ok);
}

/* Its CM would keep some memory of each connection for two hours. */
static void packets_that_live_for_hours(struct link *l)
{
	const struct addresses links = { peer_addr, peer_addr, peer_addr, peer_addr };
	bool ok;

	ack_timeout = 31;
	ok = refused(l, &links, &l->next, "protocol");
	ack_timeout = 24;
	ok &= refused(l, &links, &l->next, "protocol");
	ack_timeout = 14;
	result("a_request_whose_packets_live_for_hours", ok);
}

static void true_addresses(struct link *l)
{
	const struct addresses links = { peer_addr, peer_addr, peer_addr, peer_addr };
	const struct addresses own = { FORGER, peer_addr, FORGER, peer_addr };
	const struct addresses v6 = { V6, V6, V6, V6 };
	bool ok;

	ok = answered(l, &links);
	ok &= answered(l, &own);
	ok &= answered(l, &v6);
	ok &= goes_on(l);
	result("the_same_request_with_true_addresses_is_answered", ok);
}

int main(int argc, char **argv)
{
	struct link l;

	if (argc != 3) {
		fprintf(stderr, "usage: badreq ADDR MOVED\n");
		return 2;
	}
	peer_addr = argv[1];
	open_umad();
	set_up(&l);
	another_address(&l);
	another_interface(&l, argv[2]);
	impossible_mtu(&l);
	packets_that_live_for_hours(&l);
	true_addresses(&l);
	hang_up(&l.c);
	copied_id(argv[1]);
	return test_program.failed != 0;
}
