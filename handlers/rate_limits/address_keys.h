/* address_keys: keys that are network addresses, so that one client has one limit. */
#ifndef PATTERND_ADDRESS_KEYS_H
#define PATTERND_ADDRESS_KEYS_H

#include "rate_limits/limit.h"

/*
 * Makes the keys of all checks canonical; their policies are known. False: the request was answered
 * with 400, since a key is not an address, or two checks have the same state.
 */
bool address_keys_apply(struct request *req, struct limit_request *limits);
/* Does so for a key that an operator chose: one that is not an address stays as it is. */
void address_keys_apply_own(struct request *req, struct limit_check *c);

/* Returns the address in the value of a header, or the one that from_right names; else absent. */
struct text address_keys_of_header(struct request *req, const struct limit_address *a, struct text value);

#endif
