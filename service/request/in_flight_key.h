/*
 * in_flight_key: the Idempotency-Keys of requests that wait. A second request with such a key can
 * neither wait beside the first nor get its response, which does not exist yet. It must not know
 * what they wait for.
 */
#ifndef PATTERND_IN_FLIGHT_KEY_H
#define PATTERND_IN_FLIGHT_KEY_H

#include <stdbool.h>

struct in_flight_key;
struct request;

/* Returns true if no waiting request has the same Idempotency-Key, else answers 409. */
bool in_flight_key_is_free(struct request *req);

/* Adds the request's key, in its arena, until in_flight_key_remove. NULL: memory ran out. */
struct in_flight_key *in_flight_key_add(struct request *req);
/* NULL is allowed. */
void in_flight_key_remove(struct in_flight_key *k);

#endif
