/*
 * ratelimit_policies: named limits. They are stored in Redis for all daemons, or fixed by this
 * daemon's file, which takes precedence.
 */
#include <fnmatch.h>
#include <stdlib.h>

#include "common/key_kinds.h"
#include "rate_limits/policy_cache.h"

static void write_policy(struct json_out *o, struct text name, const struct limit_policy *p, const char *source)
{
	out_text(o, "name", name);
	out_string(o, "algorithm", limit_algorithm_names[p->limit.algorithm - 1]);
	out_int(o, "limit", p->limit.limit);
	out_int(o, "window_ms", p->limit.window_ms);
	out_int_or_null(o, "burst", p->limit.algorithm == GCRA, p->limit.burst);
	out_bool(o, "count_refused", p->limit.count_refused);
	out_string(o, "on_error", p->open ? "open" : "closed");
	out_bool(o, "shadow", p->shadow);
	out_text(o, "key_header", text_of(*p->key_header ? p->key_header : NULL));
	limit_address_write(o, &p->address);
	out_string(o, "source", source);
}

static void answer_policy(struct request *req, int status, struct text name, const struct limit_policy *p,
			  const char *source)
{
	write_policy(answer_begin(req, status), name, p, source);
	answer_end(req);
}

/* Answers 409 and returns true if the file has the policy. */
static bool refuse_fixed(struct request *req, struct text name)
{
	if (!policy_cache_fixed(name))
		return false;
	answer_problem(
		req, P_POLICY_FIXED,
		"policy '%s' is defined in the file that --policies names; change it there and restart the daemon",
		name.at);
	return true;
}

/* ---- PUT, PATCH and DELETE ---- */

enum { PATCH_ATTEMPTS = 5 };

/* The state of a change, as req->work. */
struct policy_change {
	struct limit_policy policy;
	int64_t asked_us;
	int attempts; /* of a PATCH */
};

static struct policy_change *change_new(struct request *req)
{
	struct policy_change *change = arena_alloc(&req->arena, sizeof(*change));

	if (change)
		change->asked_us = loop_now_us();
	else
		answer_no_memory(req, EFFECT_NONE);
	req->work = change;
	return change;
}

static struct call *put_call(struct request *req, struct text name, const struct limit_policy *p)
{
	struct call *c = handler_call(req, &ratelimit_policy_put_script, KEY_POLICY, name);

	call_text(c, limit_address_stored(req, limit_algorithm_names[p->limit.algorithm - 1], &p->address));
	call_int(c, p->limit.limit);
	call_int(c, p->limit.window_ms);
	call_int(c, p->limit.has_burst ? p->limit.burst : 0);
	call_int(c, p->limit.count_refused);
	call_string(c, p->open ? "open" : "closed");
	call_int(c, p->shadow);
	call_string(c, p->key_header);
	return c;
}

static void on_put(struct request *req, const struct reply *r)
{
	const struct ratelimit_policy_put_input *in = req->input;
	const struct policy_change *change = req->work;

	policy_cache_changed(in->name, &change->policy, change->asked_us);
	answer_policy(req, reply_outcome(r) == RATELIMIT_POLICY_PUT_NEW ? 201 : 200, in->name, &change->policy,
		      "redis");
}

void ratelimit_policy_put(struct request *req, const struct ratelimit_policy_put_input *in)
{
	struct policy_change *change = change_new(req);

	if (!change || refuse_fixed(req, in->name) || !limit_policy_of_input(req, in, &change->policy))
		return;
	call_send(put_call(req, in->name, &change->policy), on_put);
}

static void read_for_patch(struct request *req, struct text name);

static void on_patched(struct request *req, const struct reply *r)
{
	const struct ratelimit_policy_patch_input *in = req->input;
	struct policy_change *change = req->work;

	if (reply_outcome(r) > 0) {
		policy_cache_changed(in->name, &change->policy, change->asked_us);
		answer_policy(req, 200, in->name, &change->policy, "redis");
	} else if (++change->attempts < PATCH_ATTEMPTS) {
		read_for_patch(req, in->name);
	} else {
		answer_problem(req, P_CONTENTION, "policy '%s' was changed by others during each of %d attempts",
			       in->name.at, PATCH_ATTEMPTS);
	}
}

/* Stores the merged policy. The script refuses if the policy changed after it was read. */
static void on_read_for_patch(struct request *req, const struct reply *r)
{
	const struct ratelimit_policy_patch_input *in = req->input;
	struct policy_change *change = req->work;

	if (reply_outcome(r) == RATELIMIT_POLICY_GET_ABSENT) {
		handler_answer_missing(req, "policy", in->name);
		return;
	}
	if (!limit_policy_read(r, &change->policy)) {
		limit_answer_foreign_policy(req, in->name);
		return;
	}
	if (!limit_policy_merge(req, in, &change->policy))
		return;
	struct call *c = put_call(req, in->name, &change->policy);
	for (size_t i = LIMIT_POLICY_ALGORITHM; i < r->count; i++) {
		struct text old = reply_text(r, i);
		call_text(c, arena_copy(&req->arena, old.at, old.len));
	}
	call_send(c, on_patched);
}

static void read_for_patch(struct request *req, struct text name)
{
	struct policy_change *change = req->work;

	change->asked_us = loop_now_us();
	call_send(handler_call(req, &ratelimit_policy_get_script, KEY_POLICY, name), on_read_for_patch);
}

void ratelimit_policy_patch(struct request *req, const struct ratelimit_policy_patch_input *in)
{
	if (change_new(req) && !refuse_fixed(req, in->name))
		read_for_patch(req, in->name);
}

static void on_deleted(struct request *req, const struct reply *r)
{
	const struct ratelimit_policy_delete_input *in = req->input;
	const struct policy_change *change = req->work;

	policy_cache_changed(in->name, NULL, change->asked_us);
	if (!handler_removed(req, r))
		handler_answer_missing(req, "policy", in->name);
}

void ratelimit_policy_delete(struct request *req, const struct ratelimit_policy_delete_input *in)
{
	if (!change_new(req) || refuse_fixed(req, in->name))
		return;
	struct call *c = handler_call(req, &ratelimit_policy_delete_script, KEY_POLICY, in->name);
	call_send(c, on_deleted);
}

/* ---- GET ---- */

static void on_state(struct request *req, const struct reply *r)
{
	const struct ratelimit_policy_get_input *in = req->input;
	struct limit_policy policy;

	if (reply_outcome(r) == RATELIMIT_POLICY_GET_ABSENT)
		handler_answer_missing(req, "policy", in->name);
	else if (limit_policy_read(r, &policy))
		answer_policy(req, 200, in->name, &policy, "redis");
	else
		limit_answer_foreign_policy(req, in->name);
}

static struct call *get_one(struct request *req, struct text name, struct text part)
{
	struct call *c = call_script(req, &ratelimit_policy_get_script);

	(void)part;
	call_key(c, KEY_POLICY, name, NULL);
	return c;
}

void ratelimit_policy_get(struct request *req, const struct ratelimit_policy_get_input *in)
{
	const struct limit_policy *p = policy_cache_fixed(in->name);

	if (p)
		answer_policy(req, 200, in->name, p, "file");
	else
		call_send(get_one(req, in->name, (struct text){ 0 }), on_state);
}

/* ---- GET /ratelimit/policies: the file's policies first, on separate pages ---- */

#define FILE_CURSOR "file."

static void write_item(struct json_out *o, struct text name, const struct limit_policy *p, const char *source)
{
	out_object(o, NULL);
	write_policy(o, name, p, source);
	out_close(o);
}

static void item(struct json_out *o, struct request *req, struct text name, struct text part, const struct reply *r)
{
	struct limit_policy policy;

	(void)req;
	(void)part;
	if (reply_outcome(r) != RATELIMIT_POLICY_GET_ABSENT && !policy_cache_fixed(name) &&
	    limit_policy_read(r, &policy))
		write_item(o, name, &policy, "redis");
}

/* Returns the file's first policy that matches, from index `i` on. NULL: there is none. */
static const struct limit_policy *fixed_from(size_t *i, struct text glob, struct text *name)
{
	const struct limit_policy *p;

	while ((p = policy_cache_fixed_at(*i, name)) && glob.at && fnmatch(glob.at, name->at, 0) != 0)
		++*i;
	return p;
}

/* Returns false if the file has no further policy. */
static bool list_fixed(struct request *req, const struct ratelimit_policy_list_input *in, struct text glob, size_t i)
{
	struct text name;
	const struct limit_policy *p = fixed_from(&i, glob, &name);

	if (!p)
		return false;
	struct json_out *o = answer_begin(req, 200);
	out_array(o, "items");
	for (int64_t n = 0; p && n < in->limit; n++) {
		write_item(o, name, p, "file");
		i++;
		p = fixed_from(&i, glob, &name);
	}
	out_close(o);
	out_text(o, "next_cursor", arena_printf(&req->arena, FILE_CURSOR "%zu", i));
	out_bool(o, "complete", true);
	answer_end(req);
	return true;
}

void ratelimit_policy_list(struct request *req, const struct ratelimit_policy_list_input *in)
{
	static const struct list_of policies = {
		.kind = KEY_POLICY, .is_indexed = true, .look = get_one, .item = item
	};
	const size_t lead = sizeof(FILE_CURSOR) - 1;
	struct text cursor = in->cursor, glob;
	bool in_file = cursor.at && strncmp(cursor.at, FILE_CURSOR, lead) == 0;

	if (!match_glob(req, in->match, &glob))
		return;
	if (in_file || !cursor.at) {
		if (list_fixed(req, in, glob, in_file ? strtoull(cursor.at + lead, NULL, 10) : 0))
			return;
		cursor.at = NULL;
	}
	list_keys(req, &policies, in->match, cursor, in->limit);
}
