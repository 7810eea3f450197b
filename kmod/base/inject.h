/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Deliberate faults and delays for test builds, in /sys/kernel/debug/rdma_char/.
 *
 * The faults are failures that soft devices never cause by themselves. They need a kernel with
 * fault injection; Documentation/fault-injection/ describes how to set them. A delay is a number of
 * microseconds. Another number leaves those who sleep already as they are, and zero wakes them. A
 * limit makes soft-RoCE behave like an adapter that can do less; the folder "limits" has one file
 * for each. It is for lanes that are created after it was set.
 *
 * The file "objects" counts the objects that are alive and the bytes held for peers. Its line
 * "delayed" is the number of tasks that sleep in a delay now. The file "longest_walk" is the
 * largest number of list entries that one lookup for a peer visited since a test wrote 0 to it.
 */
#ifndef RCHAR_INJECT_H
#define RCHAR_INJECT_H

#include <linux/limits.h>
#include <linux/types.h>

/**
 * enum rchar_fault - operations that a test can make fail
 * @RCHAR_FAULT_QP: the queue pair enters the error state after a post
 * @RCHAR_FAULT_POST_SEND: ib_post_send() fails
 * @RCHAR_FAULT_POST_RECV: ib_post_recv() fails
 * @RCHAR_FAULT_POST_PART: ib_post_send() fails after the first of a chain of registrations
 * @RCHAR_FAULT_MAP: a DMA mapping fails
 * @RCHAR_FAULT_VERBS: creating an object of a connection or a listener fails
 * @__RCHAR_FAULT_MAX: number of faults
 */
enum rchar_fault {
	RCHAR_FAULT_QP,
	RCHAR_FAULT_POST_SEND,
	RCHAR_FAULT_POST_RECV,
	RCHAR_FAULT_POST_PART,
	RCHAR_FAULT_MAP,
	RCHAR_FAULT_VERBS,
	__RCHAR_FAULT_MAX,
};

/**
 * enum rchar_delay - points at which a test can make the module wait, to force a race
 * @RCHAR_DELAY_CONCLUDE: a rendezvous, after the writer has decided its outcome and before the
 *			  writer acts on the outcome
 * @RCHAR_DELAY_REGISTER: a batch of registrations, as if the peer took frames slowly
 * @RCHAR_DELAY_DESTROY: a link, after the last user has left
 * @__RCHAR_DELAY_MAX: number of delays
 */
enum rchar_delay {
	RCHAR_DELAY_CONCLUDE,
	RCHAR_DELAY_REGISTER,
	RCHAR_DELAY_DESTROY,
	__RCHAR_DELAY_MAX,
};

/**
 * enum rchar_limit - limits of a device that a test can lower, as if the device said so
 * @RCHAR_LIMIT_SEND_SGE: &ib_device_attr.max_send_sge
 * @RCHAR_LIMIT_RECV_SGE: &ib_device_attr.max_recv_sge
 * @RCHAR_LIMIT_SGE_RD: &ib_device_attr.max_sge_rd
 * @RCHAR_LIMIT_QP_WR: &ib_device_attr.max_qp_wr
 * @RCHAR_LIMIT_CQE: &ib_device_attr.max_cqe
 * @RCHAR_LIMIT_MR: &ib_device_attr.max_mr
 * @RCHAR_LIMIT_REG_PAGES: &ib_device_attr.max_fast_reg_page_list_len; 0: as without
 *			   IB_DEVICE_MEM_MGT_EXTENSIONS
 * @RCHAR_LIMIT_QP_RD_ATOM: &ib_device_attr.max_qp_rd_atom
 * @RCHAR_LIMIT_QP_INIT_RD_ATOM: &ib_device_attr.max_qp_init_rd_atom
 * @RCHAR_LIMIT_ATOMIC_CAP: &ib_device_attr.atomic_cap; 0: none
 * @RCHAR_LIMIT_KEYLESS_READS: 0: a READ needs a key of the memory that it writes to, as on iWARP
 * @RCHAR_LIMIT_DIRECT_DMA: 0: the device gets copies of memory, as with swiotlb; see link/bounce.h
 * @RCHAR_LIMIT_BOUNCES: with direct_dma=0, a mapping of 4 KiB or more fails when there are so many
 *			 mappings, as in a full swiotlb
 * @RCHAR_LIMIT_REG_ATOMIC: 0: the device refuses to register memory for atomic operations
 * @RCHAR_LIMIT_POST_ATOMIC: 0: the driver executes no atomic operations that kernels request
 * @RCHAR_LIMIT_LOCAL_INV: 0: the driver knows no IB_WR_LOCAL_INV
 * @__RCHAR_LIMIT_MAX: number of limits
 */
enum rchar_limit {
	RCHAR_LIMIT_SEND_SGE,
	RCHAR_LIMIT_RECV_SGE,
	RCHAR_LIMIT_SGE_RD,
	RCHAR_LIMIT_QP_WR,
	RCHAR_LIMIT_CQE,
	RCHAR_LIMIT_MR,
	RCHAR_LIMIT_REG_PAGES,
	RCHAR_LIMIT_QP_RD_ATOM,
	RCHAR_LIMIT_QP_INIT_RD_ATOM,
	RCHAR_LIMIT_ATOMIC_CAP,
	RCHAR_LIMIT_KEYLESS_READS,
	RCHAR_LIMIT_DIRECT_DMA,
	RCHAR_LIMIT_BOUNCES,
	RCHAR_LIMIT_REG_ATOMIC,
	RCHAR_LIMIT_POST_ATOMIC,
	RCHAR_LIMIT_LOCAL_INV,
	__RCHAR_LIMIT_MAX,
};

/**
 * rchar_inject_verbs() - return the error of a failing verb, when a test has asked for it
 *
 * Return: 0 or -ENOMEM.
 */
#define rchar_inject_verbs() (rchar_inject(RCHAR_FAULT_VERBS) ? -ENOMEM : 0)

#if defined(RCHAR_DEBUG) && defined(CONFIG_FAULT_INJECTION_DEBUG_FS)

bool rchar_inject(enum rchar_fault fault);

#else

static inline bool rchar_inject(enum rchar_fault fault)
{
	return false;
}

#endif

#if defined(RCHAR_DEBUG) && defined(CONFIG_DEBUG_FS)

void rchar_inject_delay(enum rchar_delay delay);
void rchar_inject_walked(unsigned int entries);
u32 rchar_inject_limit(enum rchar_limit limit);
void rchar_inject_init(void);
void rchar_inject_exit(void);

#else

static inline void rchar_inject_delay(enum rchar_delay delay)
{
}

static inline void rchar_inject_walked(unsigned int entries)
{
}

static inline u32 rchar_inject_limit(enum rchar_limit limit)
{
	return U32_MAX;
}

static inline void rchar_inject_init(void)
{
}

static inline void rchar_inject_exit(void)
{
}

#endif

#endif /* RCHAR_INJECT_H */
