/* limit_address: the member `address` of a policy: how it reads its keys as network addresses. */
#ifndef PATTERND_LIMIT_ADDRESS_H
#define PATTERND_LIMIT_ADDRESS_H

#include "common/handler.h"

struct limit_address {
	int ipv6_prefix, ipv4_prefix; /* ipv6_prefix 0: the keys are any text */
	bool keep_other;              /* other keys are limited as they are, instead of refused */
	int from_right;               /* which address of a header's list is the key; 0: a header has one */
};

void limit_address_write(struct json_out *o, const struct limit_address *a);

/*
 * A policy is stored with " address <ipv6_prefix> <ipv4_prefix> <other> <from_right>" behind its
 * algorithm. An older daemon does not know such an algorithm. So it answers that the policy is
 * foreign, and does not count other keys than newer daemons do.
 */
struct text limit_address_stored(struct request *req, const char *algorithm, const struct limit_address *a);
/* Takes what is behind the algorithm, if anything is. False: another program wrote it. */
bool limit_address_parse(struct text stored, struct limit_address *out);

void limit_address_of_input(const struct ratelimit_policy_put_input *in, struct limit_address *out);
void limit_address_merge(const struct ratelimit_policy_patch_input *in, struct limit_address *out);

#endif
