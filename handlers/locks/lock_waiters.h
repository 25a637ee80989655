/*
 * lock_waiters: lists the wait queue of a lock, for operators. It owns the last part of a lock's
 * tickets (service/wait/ticket.h): the owner, percent-encoded, a dot, and the mode, which the
 * scripts read: "x" exclusive or "s" shared. Without an owner it is the mode alone. This file must
 * not know which waiter is next: the scripts choose it.
 */
#ifndef PATTERND_LOCK_WAITERS_H
#define PATTERND_LOCK_WAITERS_H

#include "common/handler.h"

/* Returns the last part of a ticket, in the request's arena. */
struct text lock_ticket_tail(struct request *req, struct text owner, bool is_shared);

#endif
