/*
 * gateway: runs operations of the contract for a request of another protocol. The request stays
 * what it is: it waits, is disconnected, is limited and is logged as a request for that operation;
 * only its input is made by the gateway, and its answer is translated. The caller knows the
 * contract and must not know the pattern.
 *
 *	gateway_run(req, self_call_operation("queue_purge"),
 *		    &(struct self_call_input){ .name = queue }, on_purged);
 *	on_purged: req->answer ...; answer in the other protocol, or gateway_run again
 *
 * Each operation is checked against the scopes of the request's token, as req->gateway.scope
 * states.
 */
#ifndef PATTERND_GATEWAY_H
#define PATTERND_GATEWAY_H

#include <stdbool.h>

#include "contract/self_call.h"

struct request;

/*
 * Runs an operation with a copy of the input. `answered` is called once, perhaps before it returns,
 * with a complete answer in req->answer: a success or a problem. It may run another operation,
 * unless this one waited; otherwise it calls gateway_begin_answer, and answers.
 */
void gateway_run(struct request *req, const struct operation *op, const struct self_call_input *input,
		 void (*answered)(struct request *req));

/* Forgets the answer of the operation, so that another one can be made. */
void gateway_begin_answer(struct request *req);

/*
 * Sets the checks of tokens: `path` when the names in the path are known, `input` when the input
 * was decoded. They return false after they have answered. Without them everything is allowed.
 */
void gateway_admission(bool (*path)(struct request *req), bool (*input)(struct request *req, const void *in));

#endif
