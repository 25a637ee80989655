/*
 * lock_waiters: the wait queue of a lock as people see it. Owns what the tickets of locks end with
 * (service/wait/ticket.h): the owner, percent-encoded, a dot, and the mode: "x" exclusive, "s"
 * shared, which the scripts read; without an owner the mode alone.
 */
#ifndef PATTERND_LOCK_WAITERS_H
#define PATTERND_LOCK_WAITERS_H

#include "common/handler.h"

/* The end of a ticket, in the request's arena. */
struct text lock_ticket_tail(struct request *req, struct text owner, bool is_shared);

#endif
