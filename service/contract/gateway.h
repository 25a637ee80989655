/*
 * gateway: runs operations of the contract for a request of another protocol. It is still one
 * request: it waits, is limited and ends with its client as a request for that operation would.
 * Only its input comes from the gateway, which also translates the answer. Logs name what the
 * client asked for. The caller knows the contract and must not know the pattern.
 *
 *	gateway_run(req, self_call_operation("queue_purge"),
 *		    &(struct self_call_input){ .name = queue }, on_purged);
 *	on_purged: req->answer ...; answer in the other protocol, or gateway_run again
 *
 * Each operation is checked against the scopes of the request's token, as req->gateway->scope
 * states.
 */
#ifndef PATTERND_GATEWAY_H
#define PATTERND_GATEWAY_H

#include <stdbool.h>

#include "contract/self_call.h"

struct request;

/*
 * Runs an operation with a copy of the input. `answered` is called once, perhaps before gateway_run
 * returns. The complete answer, a success or a problem, is then in req->answer. `answered` may run
 * another operation, unless this one waited. Otherwise it calls gateway_begin_answer, and answers
 * the request.
 */
void gateway_run(struct request *req, const struct operation *op, const struct self_call_input *input,
		 void (*answered)(struct request *req));

/* Forgets the answer of the operation, so that another one can be made. */
void gateway_begin_answer(struct request *req);

/*
 * Sets the checks of tokens. `path` is called when the names in the path are known, `input` when
 * the input has been decoded. A check that refuses the request answers it and returns false. Until
 * the checks are set, everything is allowed.
 */
void gateway_admission(bool (*path)(struct request *req), bool (*input)(struct request *req, const void *in));

#endif
