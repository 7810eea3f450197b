// SPDX-License-Identifier: GPL-2.0
#include "psk.h"
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include "base/ledger.h"
#include "base/notify.h"

static DEFINE_MUTEX(psks_lock); /* protects the table; its holder takes no other lock */
static LIST_HEAD(psks);		/* ordered by serial */
static unsigned int nr_psks;
static u32 last_serial;
static int (*tell_deleted)(struct rchar_psk *psk);

static void psk_release(struct kref *ref)
{
	struct rchar_psk *psk = container_of(ref, struct rchar_psk, ref);

	rchar_ledger_del(RCHAR_OBJ_PSK);
	kfree_sensitive(psk);
}

/**
 * rchar_psk_put() - drop a reference; the last one wipes and frees the key
 * @psk: the key, or NULL
 *
 * Context: any but hard interrupt.
 */
void rchar_psk_put(struct rchar_psk *psk)
{
	if (psk)
		kref_put(&psk->ref, psk_release);
}

static struct rchar_psk *psk_create(struct net *net, const char *name, const u8 *secret)
{
	struct rchar_psk *psk = kzalloc(sizeof(*psk), GFP_KERNEL);

	if (!psk)
		return NULL;
	rchar_ledger_add(RCHAR_OBJ_PSK);
	kref_init(&psk->ref);
	psk->net = net;
	strscpy(psk->name, name, sizeof(psk->name));
	rchar_auth_derive(&psk->key, secret);
	return psk;
}

/* May the table take the key? Two names for one secret would be two identities of one peer. */
static int psk_check(const struct rchar_psk *psk)
{
	const struct rchar_psk *other;

	lockdep_assert_held(&psks_lock);
	if (nr_psks >= RCHAR_PSKS_MAX)
		return -ENOSPC;
	list_for_each_entry(other, &psks, entry) {
		if (other->net != psk->net)
			continue;
		if (!strcmp(other->name, psk->name))
			return -EEXIST;
		if (rchar_auth_same(other->key.mac, psk->key.mac, sizeof(psk->key.mac)))
			return -ENOTUNIQ;
	}
	return 0;
}

/**
 * rchar_psk_add() - add a key
 * @net: network namespace
 * @name: valid name of the key
 * @secret: RCHAR_KEY_LEN bytes; the caller wipes them
 *
 * Context: process.
 * Return: 0; -EEXIST when the name is taken; -ENOTUNIQ when another key has the same secret;
 * -ENOSPC; -ENOMEM.
 */
int rchar_psk_add(struct net *net, const char *name, const u8 *secret)
{
	struct rchar_psk *fresh = psk_create(net, name, secret);
	int ret;

	if (!fresh)
		return -ENOMEM;
	mutex_lock(&psks_lock);
	ret = psk_check(fresh);
	if (!ret) {
		fresh->serial = ++last_serial;
		nr_psks++;
		list_add_tail(&fresh->entry, &psks);
		rchar_notify_key(fresh, RCHAR_CMD_KEY_NEW_NTF);
	}
	mutex_unlock(&psks_lock);
	if (ret)
		rchar_psk_put(fresh);
	return ret;
}

static struct rchar_psk *psk_find_locked(struct net *net, const char *name)
{
	struct rchar_psk *psk;

	lockdep_assert_held(&psks_lock);
	list_for_each_entry(psk, &psks, entry)
		if (psk->net == net && (!name || !strcmp(psk->name, name)))
			return psk;
	return NULL;
}

/**
 * rchar_psk_find() - find a key by name
 * @net: network namespace
 * @name: the name
 *
 * Context: process.
 * Return: the key, with a reference, or NULL.
 */
struct rchar_psk *rchar_psk_find(struct net *net, const char *name)
{
	struct rchar_psk *psk;

	mutex_lock(&psks_lock);
	psk = rchar_psk_get(psk_find_locked(net, name));
	mutex_unlock(&psks_lock);
	return psk;
}

/**
 * rchar_psk_next() - walk the keys of a namespace
 * @net: network namespace
 * @serial: serial of the previous key, 0 to start
 *
 * Context: process.
 * Return: the next key, with a reference, or NULL.
 */
struct rchar_psk *rchar_psk_next(struct net *net, u32 serial)
{
	struct rchar_psk *psk, *found = NULL;

	mutex_lock(&psks_lock);
	list_for_each_entry(psk, &psks, entry) {
		if (psk->net == net && psk->serial > serial) {
			found = rchar_psk_get(psk);
			break;
		}
	}
	mutex_unlock(&psks_lock);
	return found;
}

/*
 * Take a key out of the table: the caller takes over the table's reference. @name may be NULL: the
 * first key. At the end of a namespace nobody is told.
 */
static struct rchar_psk *psk_take(struct net *net, const char *name, bool tell)
{
	struct rchar_psk *psk;

	mutex_lock(&psks_lock);
	psk = psk_find_locked(net, name);
	if (psk) {
		list_del(&psk->entry);
		nr_psks--;
		WRITE_ONCE(psk->deleted, true);
		/* With the lock: events have the order in which keys come and go. */
		if (tell)
			rchar_notify_key(psk, RCHAR_CMD_KEY_DEL_NTF);
	}
	mutex_unlock(&psks_lock);
	return psk;
}

/**
 * rchar_psk_del() - delete a key, and break the links that use it
 * @net: network namespace
 * @name: the name
 *
 * When this function returns 0, the peers that have the key cannot use any registration any more.
 *
 * Context: process; waits for the teardown of lanes.
 * Return: 0; -ENOENT; -EINTR when the task was killed: the connections still end by themselves.
 */
int rchar_psk_del(struct net *net, const char *name)
{
	struct rchar_psk *psk = psk_take(net, name, true);
	int ret;

	if (!psk)
		return -ENOENT;
	ret = tell_deleted(psk);
	/* Access lists may keep the key for years, and peers may still trust its secret. */
	get_random_bytes(psk->key.mac, sizeof(psk->key.mac));
	rchar_psk_put(psk);
	return ret;
}

/**
 * rchar_psk_authenticate() - find the key that authenticates a connection request
 * @net: network namespace in which the request arrived
 * @id: &rchar_privdata.key of the request, not 0
 * @transcript: the initiator's half of the transcript
 *
 * Context: process.
 * Return: the key, with a reference; NULL when no key fits.
 */
struct rchar_psk *rchar_psk_authenticate(struct net *net, u16 id,
					 const struct rchar_auth_transcript *transcript)
{
	struct rchar_psk *psk, *found = NULL;

	mutex_lock(&psks_lock);
	list_for_each_entry(psk, &psks, entry) {
		if (psk->net == net && psk->key.id == id &&
		    rchar_auth_check_request(transcript, &psk->key)) {
			found = rchar_psk_get(psk);
			break;
		}
	}
	mutex_unlock(&psks_lock);
	return found;
}

/* Channels and links hold their namespace, so none of them uses the keys that are left. */
static void psk_net_exit(struct net *net)
{
	struct rchar_psk *psk;

	while ((psk = psk_take(net, NULL, false)))
		rchar_psk_put(psk);
}

static struct pernet_operations psk_net_ops = {
	.exit = psk_net_exit,
};

/**
 * rchar_psk_init() - initialize at module load
 * @deleted: breaks the links that use a deleted key, and waits until they are broken. Returns 0
 *	     or -EINTR.
 *
 * Return: 0 or a negative errno.
 */
int rchar_psk_init(int (*deleted)(struct rchar_psk *psk))
{
	tell_deleted = deleted;
	return register_pernet_subsys(&psk_net_ops);
}

/**
 * rchar_psk_exit() - delete all keys at module unload, when no link is left
 */
void rchar_psk_exit(void)
{
	/* Calls psk_net_exit() for each namespace. */
	unregister_pernet_subsys(&psk_net_ops);
}
