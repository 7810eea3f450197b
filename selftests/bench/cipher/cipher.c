// SPDX-License-Identifier: GPL-2.0
/*
 * What the cipher of an encrypted link takes without us: a payload in single pages, as our frames
 * have it, sealed and opened again and again. /sys/module/cipher/parameters/seal and .../open say
 * the nanoseconds that one payload of "size" bytes takes. See selftests/bench/encrypt.sh.
 */
#include <linux/gfp.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <crypto/chacha20poly1305.h>

#define HEADER	  24
#define MAX_PAGES 16
#define ROUNDS	  200

static unsigned int size = 65536;
module_param(size, uint, 0444);
MODULE_PARM_DESC(size, "bytes of the payload, up to 64k");

static ulong seal, open;
module_param(seal, ulong, 0444);
module_param(open, ulong, 0444);

/* The last one is for the tag: data of a module cannot be in a scatterlist. */
static struct page *pages[MAX_PAGES + 1];
static const u8 key[CHACHA20POLY1305_KEY_SIZE], header[HEADER];

static void describe(struct scatterlist *sg)
{
	unsigned int i, left, n = DIV_ROUND_UP(size, PAGE_SIZE);

	sg_init_table(sg, n + 1);
	for (i = 0, left = size; i < n; i++, left -= min_t(unsigned int, left, PAGE_SIZE))
		sg_set_page(&sg[i], pages[i], min_t(unsigned int, left, PAGE_SIZE), 0);
	sg_set_page(&sg[n], pages[MAX_PAGES], CHACHA20POLY1305_AUTHTAG_SIZE, 0);
}

static bool measure(void)
{
	u64 start, sealed = 0, opened = 0;
	struct scatterlist sg[MAX_PAGES + 1];
	bool ok = true;
	int i;

	for (i = 0; ok && i < ROUNDS; i++) {
		describe(sg);
		start = ktime_get_ns();
		ok = chacha20poly1305_encrypt_sg_inplace(sg, size, header, HEADER, i, key);
		sealed += ktime_get_ns() - start;
		describe(sg);
		start = ktime_get_ns();
		ok = ok &&
		     chacha20poly1305_decrypt_sg_inplace(sg, size + CHACHA20POLY1305_AUTHTAG_SIZE,
							 header, HEADER, i, key);
		opened += ktime_get_ns() - start;
	}
	seal = sealed / ROUNDS;
	open = opened / ROUNDS;
	return ok;
}

static void free_all_pages(void)
{
	int i;

	for (i = 0; i <= MAX_PAGES; i++) {
		if (pages[i])
			__free_page(pages[i]);
	}
}

static int __init cipher_init(void)
{
	int i, ret = 0;

	if (!size || size > MAX_PAGES * PAGE_SIZE)
		return -EINVAL;
	for (i = 0; !ret && i <= MAX_PAGES; i++) {
		pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		ret = pages[i] ? 0 : -ENOMEM;
	}
	if (!ret && !measure())
		ret = -EIO;
	free_all_pages();
	return ret;
}

static void __exit cipher_exit(void)
{
}

module_init(cipher_init);
module_exit(cipher_exit);
MODULE_DESCRIPTION("Measures ChaCha20-Poly1305 alone");
MODULE_LICENSE("GPL");
