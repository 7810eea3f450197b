// SPDX-License-Identifier: GPL-2.0
#include "psk.h"
#include <blake2.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

void psk_hash(uint8_t *out, const uint8_t *k, const char *label, const void *data, size_t len,
	      const void *more, size_t more_len)
{
	char padded[16] = "";
	blake2s_state s;

	memcpy(padded, label, strlen(label));
	blake2s_init_key(&s, PSK_MAC_LEN, k, PSK_SECRET_LEN);
	blake2s_update(&s, (const uint8_t *)padded, sizeof(padded));
	if (len)
		blake2s_update(&s, data, len);
	if (more_len)
		blake2s_update(&s, more, more_len);
	blake2s_final(&s, out, PSK_MAC_LEN);
}

void psk_derive(struct psk *k, const uint8_t *secret)
{
	uint8_t name[PSK_MAC_LEN];

	psk_hash(k->mac, secret, "rchar1 mac", NULL, 0, NULL, 0);
	psk_hash(name, secret, "rchar1 name", NULL, 0, NULL, 0);
	k->id = name[0] | name[1] << 8;
	if (!k->id)
		k->id = 1;
}

void psk_read(struct psk *k, const char *path)
{
	uint8_t secret[PSK_SECRET_LEN];
	char command[256];
	FILE *f;

	snprintf(command, sizeof(command), "base64 -d %s", path);
	f = popen(command, "r");
	if (!f || fread(secret, 1, sizeof(secret), f) != sizeof(secret))
		bail(path);
	pclose(f);
	psk_derive(k, secret);
}

static void mapped(uint8_t *out, const struct sockaddr *sa)
{
	memset(out, 0, 16);
	memset(out + 10, 0xff, 2);
	memcpy(out + 12, &((const struct sockaddr_in *)sa)->sin_addr, 4);
}

void psk_ends(struct psk_transcript *t, struct conn *c, bool initiator)
{
	const struct sockaddr *here = rdma_get_local_addr(c->id);
	const struct sockaddr *there = rdma_get_peer_addr(c->id);

	mapped(t->initiator, initiator ? here : there);
	mapped(t->acceptor, initiator ? there : here);
	t->initiator_qpn = htole32(initiator ? c->qp->qp_num : c->peer_qpn);
	t->acceptor_qpn = htole32(initiator ? 0 : c->qp->qp_num);
}

void psk_request_tag(uint8_t *tag, const struct psk_transcript *t, const struct psk *k)
{
	struct psk_transcript half = *t;
	uint8_t mac[PSK_MAC_LEN];

	memset(half.request.nonce + PSK_TAG_AT, 0, PSK_TAG_LEN);
	memset(&half.reply, 0, sizeof(half.reply));
	half.acceptor_qpn = 0;
	memset(half.acceptor_public, 0, sizeof(half.acceptor_public));
	memset(half.initiator_public, 0, sizeof(half.initiator_public));
	psk_hash(mac, k->mac, "rchar1 request", &half, sizeof(half), NULL, 0);
	memcpy(tag, mac, PSK_TAG_LEN);
}

void psk_reply_tag(uint8_t *tag, const struct psk_transcript *t, const struct psk *k)
{
	struct psk_transcript all = *t;
	uint8_t mac[PSK_MAC_LEN];

	memset(all.reply.nonce + PSK_TAG_AT, 0, PSK_TAG_LEN);
	memset(all.initiator_public, 0, sizeof(all.initiator_public));
	psk_hash(mac, k->mac, "rchar1 reply", &all, sizeof(all), NULL, 0);
	memcpy(tag, mac, PSK_TAG_LEN);
}

void psk_greetings(uint8_t *hello_mac, uint8_t *ready_mac, const struct psk_transcript *t,
		   const struct psk *k)
{
	psk_hash(hello_mac, k->mac, "rchar1 hello", t, sizeof(*t), NULL, 0);
	psk_hash(ready_mac, k->mac, "rchar1 ready", t, sizeof(*t), hello_mac, PSK_MAC_LEN);
}

void psk_await(struct conn *c, struct psk_transcript *t, const char *port)
{
	memset(t, 0, sizeof(*t));
	wait_for_request(c, port);
	setup_qp(c);
	t->request = c->reply;
	psk_ends(t, c, false);
	good_reply(&t->reply, &t->request);
}
