// SPDX-License-Identifier: GPL-2.0
#include "keys.h"
#include <linux/log2.h>
#include <linux/slab.h>
#include "base/account.h"

/**
 * rchar_keys_init() - initialize an empty set of keys
 * @keys: the keys
 * @size: bytes of the region
 * @priority: as in struct rchar_turn; exists as long as @keys
 */
void rchar_keys_init(struct rchar_keys *keys, u64 size, const u32 *priority)
{
	int i;

	keys->size = size;
	keys->priority = priority;
	xa_init(&keys->arrays);
	for (i = 0; i < ARRAY_SIZE(keys->queues); i++) {
		INIT_LIST_HEAD(&keys->queues[i].entry);
		INIT_LIST_HEAD(&keys->queues[i].ios);
	}
}

/**
 * rchar_keys_destroy() - free the memory of a set of keys
 * @keys: the keys; no operation uses the keys any more
 * @account: account of the peer; NULL when rchar_keys_add() has added no key
 */
void rchar_keys_destroy(struct rchar_keys *keys, struct rchar_account *account)
{
	unsigned long index;
	u32 *array;

	xa_for_each(&keys->arrays, index, array)
		kfree(array);
	xa_destroy(&keys->arrays);
	if (keys->held)
		rchar_account_release(account, keys->held);
}

static u64 blocks_of(const struct rchar_keys *keys)
{
	return ((keys->size - 1) >> keys->shift) + 1;
}

/**
 * rchar_keys_complete() - check whether every block has a key for a connection
 * @keys: the keys; the lock of their flow is held
 * @attempt: attempt number of the connection
 *
 * Return: true when every block has a key.
 */
bool rchar_keys_complete(const struct rchar_keys *keys, u32 attempt)
{
	return keys->shift && keys->attempt == attempt && keys->have == blocks_of(keys);
}

/* Allocate an array of @n keys, and store the array at index @at. */
static u32 *new_array(struct rchar_keys *keys, unsigned long at, unsigned int n)
{
	u32 *array = kmalloc_array(n, sizeof(*array), GFP_ATOMIC | __GFP_NOWARN);

	if (!array)
		return NULL;
	if (xa_err(xa_store(&keys->arrays, at, array, GFP_ATOMIC | __GFP_NOWARN))) {
		kfree(array);
		return NULL;
	}
	return array;
}

/* Charge the peer's account for the memory: the peer chooses the number of keys. */
static int add_array(struct rchar_keys *keys, unsigned long at, struct rchar_account *account,
		     u32 **array)
{
	const u64 bytes = RCHAR_WIRE_MAP_KEYS * sizeof(**array);

	if (!rchar_account_hold(account, bytes))
		return -ENOBUFS;
	*array = new_array(keys, at, RCHAR_WIRE_MAP_KEYS);
	if (!*array) {
		rchar_account_release(account, bytes);
		return -ENOMEM;
	}
	keys->held += bytes;
	return 0;
}

static int array_for(struct rchar_keys *keys, u32 index, struct rchar_account *account, u32 **array)
{
	u32 at = index / RCHAR_WIRE_MAP_KEYS;

	*array = xa_load(&keys->arrays, at);
	return *array ? 0 : add_array(keys, at, account, array);
}

/**
 * rchar_keys_add() - add keys that arrived for the current connection
 * @keys: the keys; the lock of their flow is held
 * @map: payload of the MAP frame; rchar_map_check() found it well formed
 * @values: the keys in @map
 * @account: account of the peer
 *
 * Context: any but hard interrupt.
 * Return: 0; -ENOMEM to receive the keys again later; -ENOBUFS when the account is full; -EPROTO
 * when the keys do not follow the last ones.
 */
int rchar_keys_add(struct rchar_keys *keys, const struct rchar_wire_map *map, const __le32 *values,
		   struct rchar_account *account)
{
	u32 i, first = le32_to_cpu(map->first), count = le32_to_cpu(map->count);
	u32 *array;
	int ret;

	if (!first) {
		keys->attempt = le32_to_cpu(map->attempt);
		keys->shift = map->shift;
		keys->have = 0;
	}
	if (first != keys->have || map->shift != keys->shift ||
	    le32_to_cpu(map->attempt) != keys->attempt)
		return -EPROTO;
	for (i = 0; i < count; i++) {
		ret = array_for(keys, first + i, account, &array);
		if (ret)
			return ret;
		array[(first + i) % RCHAR_WIRE_MAP_KEYS] = le32_to_cpu(values[i]);
	}
	keys->have += count;
	return 0;
}

/**
 * rchar_keys_one() - set a single key for the whole region
 * @keys: the keys, as rchar_keys_init() leaves them
 * @size: exclusive upper bound of offsets
 * @attempt: attempt number of the connection on which the key is valid
 * @key: the key
 *
 * Context: any but hard interrupt.
 * Return: 0 or -ENOMEM.
 */
int rchar_keys_one(struct rchar_keys *keys, u64 size, u32 attempt, u32 key)
{
	u32 *array = new_array(keys, 0, 1);

	if (!array)
		return -ENOMEM;
	*array = key;
	keys->size = size;
	keys->attempt = attempt;
	keys->shift = order_base_2(size) ?: 1; /* 0 would mean: no keys */
	keys->have = 1;
	return 0;
}

/**
 * rchar_keys_at() - get the key for an offset
 * @keys: the keys, complete; the lock of their flow is held
 * @offset: offset in the region
 *
 * Return: the key.
 */
u32 rchar_keys_at(struct rchar_keys *keys, u64 offset)
{
	u64 index = offset >> keys->shift;
	u32 *array = xa_load(&keys->arrays, index / RCHAR_WIRE_MAP_KEYS);

	return array[index % RCHAR_WIRE_MAP_KEYS];
}
