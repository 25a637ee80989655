/*
 * kind: the operations that are alike for most kinds of resources: GET, PATCH of the expiry, DELETE
 * and the list. An operation of the contract with `x-kind: set` is answered from set_kind, as its
 * operationId states (set_get, set_patch, set_delete, set_list). It must not know any kind.
 *
 * A script of GET or PATCH replies -1 if the resource does not exist, a script of DELETE 0.
 */
#ifndef PATTERND_KIND_H
#define PATTERND_KIND_H

#include "call/call.h"
#include "call/list.h"

struct kind {
	struct list_of list;    /* with kind_item; with kind_look, unless an item is a name only */
	const char *missing[2]; /* the detail of 404, before and behind the quoted name */
	const struct script *get, *patch, *delete;
	/* Starts a call, and declares the keys; NULL: the name has one key. */
	struct call *(*call)(struct request *req, const struct script *s, struct text name);
	/* Writes the members of a resource into an open object. `reply` is of get or patch. */
	void (*out)(struct json_out *o, struct text name, const struct reply *reply);
	bool is_always; /* GET answers 200 if it does not exist, from that reply */
};

/* The inputs of these operations. */
struct kind_name_input {
	struct text name;
};
struct kind_patch_input {
	struct text name;
	bool has_ttl_ms, reset_ttl_ms;
	int64_t ttl_ms;
};
struct kind_list_input {
	struct text match, cursor;
	int64_t limit;
};

void kind_get(struct request *req, const struct kind *k, const struct kind_name_input *in);
void kind_patch(struct request *req, const struct kind *k, const struct kind_patch_input *in);
void kind_delete(struct request *req, const struct kind *k, const struct kind_name_input *in);
void kind_list(struct request *req, const struct kind *k, const struct kind_list_input *in);

/* For the list of a kind. */
struct call *kind_look(struct request *req, struct text name, struct text part);
void kind_item(struct json_out *o, struct request *req, struct text name, struct text part, const struct reply *r);

#endif
