/*
 * in_flight_key: the Idempotency-Keys of requests that wait. A second request with such a key can
 * neither wait beside the first nor get its response, which does not exist yet.
 */
#ifndef PATTERND_IN_FLIGHT_KEY_H
#define PATTERND_IN_FLIGHT_KEY_H

#include <stdbool.h>

struct in_flight_key;
struct request;

/* False: a request with the same Idempotency-Key is waiting; this one was answered. */
bool in_flight_key_is_free(struct request *req);

/* Lives in the request's arena until in_flight_key_remove; NULL without memory. */
struct in_flight_key *in_flight_key_add(struct request *req);
/* NULL is none. */
void in_flight_key_remove(struct in_flight_key *k);

#endif
