/* SPDX-License-Identifier: GPL-2.0 */
/* Lanes that peers request, until each takes its slot of the link. */
#ifndef RCHAR_ACCEPT_H
#define RCHAR_ACCEPT_H

#include "uapi/linux/rdma_char.h"

struct rchar_cm_request;
struct rchar_lane;
struct rchar_link;

enum rchar_reason rchar_link_accept(const struct rchar_cm_request *request,
				    struct rchar_lane **lane);
void rchar_link_admit(struct rchar_lane *lane);
void rchar_link_admit_greeted(struct rchar_link *link);
void rchar_link_fail_accepting(struct rchar_link *link, enum rchar_reason reason);
bool rchar_link_stop_accepting(struct rchar_link *link, struct rchar_lane *lane);

#endif /* RCHAR_ACCEPT_H */
