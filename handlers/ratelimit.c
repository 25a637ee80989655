/*
 * ratelimit: one decision a call, exact, and told in all the forms that clients read.
 *
 * A key has one state for each algorithm. Owns the headers of draft-ietf-httpapi-ratelimit-headers-10 and of its older drafts.
 */
#include "handler.h"
#include "keys.h"

/* The parts of a key's states, in the order of the contract's enum. The policy stands first. */
static const char *const state_parts[] = { "default:funnel", "default:sliding_window", "default:fixed_window" };
static const char *const algorithm_names[] = { "funnel", "sliding_window", "fixed_window" };
enum { ALGORITHMS = 3 };

/* A funnel's state counts in units of limit and window_ms: beyond 2^53 they would not be exact. */
static const int64_t largest_room = INT64_C(1) << 53;

/* What the script decided; times that are left, in milliseconds. */
struct decision {
	bool allowed;
	int64_t capacity, remaining;
	int64_t retry_after_ms; /* -1: allowed */
	int64_t reset_after_ms; /* until it is whole again */
	int64_t more_after_ms;  /* until there is more than `remaining`; 0: it is full */
};

static int64_t seconds_up(int64_t ms)
{
	return (ms + 999) / 1000;
}

static struct decision decision_of(const struct request *req, const struct reply *r)
{
	return (struct decision){
		.allowed = reply_int(r, 0) > 0,
		.capacity = reply_int(r, 2),
		.remaining = reply_int(r, 3),
		.retry_after_ms = reply_int(r, 4) < 0 ? -1 : request_ms_until(req, reply_int(r, 4)),
		.reset_after_ms = request_ms_until(req, reply_int(r, 5)),
		.more_after_ms = request_ms_until(req, reply_int(r, 6)),
	};
}

static int64_t burst_of(const struct ratelimit_take_input *in)
{
	return in->algorithm == RATELIMIT_TAKE_ALGORITHM_FUNNEL && in->has_burst ? in->burst : in->limit;
}

static void write_headers(struct request *req, const struct ratelimit_take_input *in, const struct decision *d)
{
	char numbers[4][TEXT_DIGITS];
	int64_t more_s = seconds_up(d->more_after_ms);
	struct text policy[] = { TEXT("\"default\";q="), text_of_int(in->limit, numbers[0]), TEXT(";w="),
				 text_of_int(seconds_up(in->window_ms), numbers[1]) };
	struct text rest[] = { TEXT("\"default\";r="), text_of_int(d->remaining, numbers[2]), TEXT(";t="),
			       text_of_int(more_s, numbers[3]) };

	answer_header_parts(req, "RateLimit-Policy", policy, 4);
	answer_header_parts(req, "RateLimit", rest, more_s > 0 ? 4 : 2);
	answer_header_int(req, "RateLimit-Limit", d->capacity);
	answer_header_int(req, "RateLimit-Remaining", d->remaining);
	answer_header_int(req, "RateLimit-Reset", seconds_up(d->reset_after_ms));
	if (!d->allowed) /* never before `t`, as the draft asks */
		answer_retry_after_ms(req, d->retry_after_ms > more_s * 1000 ? d->retry_after_ms : more_s * 1000);
}

static void write_values(struct json_out *o, const struct decision *d)
{
	out_bool(o, "allowed", d->allowed);
	out_int(o, "limit", d->capacity);
	out_int(o, "remaining", d->remaining);
	out_int(o, "retry_after_ms", d->retry_after_ms);
	out_int(o, "reset_after_ms", d->reset_after_ms);
	out_string(o, "policy", "default");
}

static void on_decided(struct request *req, const struct reply *r)
{
	const struct ratelimit_take_input *in = req->input;
	struct decision d = decision_of(req, r);

	write_headers(req, in, &d);
	if (d.allowed) {
		write_values(answer_begin(req, 200), &d);
		answer_end(req);
		return;
	}
	write_values(problem_begin(req, P_RATE_LIMITED, "'%s' has room for %lld in %lld ms", in->key.at,
				   (long long)in->cost, (long long)d.retry_after_ms),
		     &d);
	problem_end(req);
}

/* What can be said without Redis. False: it was said. */
static bool check(struct request *req, const struct ratelimit_take_input *in)
{
	int64_t most = burst_of(in);

	if (in->has_burst && in->algorithm != RATELIMIT_TAKE_ALGORITHM_FUNNEL)
		answer_field_problem(req, P_INVALID_VALUE, "/burst", "belongs to the algorithm funnel");
	else if (in->count_refused && in->algorithm != RATELIMIT_TAKE_ALGORITHM_SLIDING_WINDOW)
		answer_field_problem(req, P_INVALID_VALUE, "/count_refused", "belongs to the algorithm sliding_window");
	else if (in->cost > most)
		answer_field_problem(req, P_NEVER_SATISFIABLE, "/cost", "of %lld never fits: the %s is %lld",
				     (long long)in->cost, in->has_burst ? "burst" : "limit", (long long)most);
	else if (in->algorithm == RATELIMIT_TAKE_ALGORITHM_FUNNEL && most > largest_room / in->window_ms)
		answer_field_problem(req, P_OUT_OF_RANGE, in->has_burst ? "/burst" : "/limit",
				     "times window_ms must be at most 2^53, to be exact");
	else
		return true;
	return false;
}

void ratelimit_take(struct request *req, const struct ratelimit_take_input *in)
{
	static const struct script *const scripts[] = { &ratelimit_funnel_script, &ratelimit_sliding_window_script,
							&ratelimit_fixed_window_script };

	if (!check(req, in))
		return;
	struct call *c = script_call(req, scripts[in->algorithm - 1]);
	call_key(c, KEY_LIMIT, in->key, state_parts[in->algorithm - 1]);
	call_int(c, in->limit);
	call_int(c, in->window_ms);
	call_int(c, in->cost);
	if (in->algorithm == RATELIMIT_TAKE_ALGORITHM_FUNNEL)
		call_int(c, burst_of(in));
	else if (in->algorithm == RATELIMIT_TAKE_ALGORITHM_SLIDING_WINDOW)
		call_int(c, in->count_refused);
	if (in->cost == 0)
		call_without_record(c); /* a look */
	call_send(c, on_decided);
}

static void on_looked(struct request *req, const struct reply *r)
{
	const struct ratelimit_look_input *in = req->input;
	int64_t algorithm = reply_int(r, 2), retry_at_ms = reply_int(r, 7);
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "key", in->key);
	out_string(o, "policy", "default");
	out_text(o, "algorithm", text_of(algorithm ? algorithm_names[algorithm - 1] : NULL));
	out_bool(o, "allowed", retry_at_ms < 0);
	out_int(o, "limit", reply_int(r, 5));
	out_int(o, "window_ms", reply_int(r, 4));
	out_int(o, "remaining", reply_int(r, 6));
	out_int(o, "retry_after_ms", retry_at_ms < 0 ? -1 : request_ms_until(req, retry_at_ms));
	out_int(o, "reset_after_ms", request_ms_until(req, reply_int(r, 8)));
	answer_end(req);
}

void ratelimit_look(struct request *req, const struct ratelimit_look_input *in)
{
	struct call *c = script_call(req, &ratelimit_look_script);

	for (size_t i = 0; i < ALGORITHMS; i++)
		call_key(c, KEY_LIMIT, in->key, state_parts[i]);
	call_int(c, in->algorithm);
	call_send(c, on_looked);
}

static void on_forgotten(struct request *req, const struct reply *r)
{
	const struct ratelimit_forget_input *in = req->input;

	if (reply_int(r, 0) > 0)
		answer_empty(req, 204);
	else
		answer_problem(req, P_NOT_FOUND, "there is no limit of key '%s'", in->key.at);
}

void ratelimit_forget(struct request *req, const struct ratelimit_forget_input *in)
{
	struct call *c = script_call(req, &ratelimit_forget_script);

	for (size_t i = 0; i < ALGORITHMS; i++)
		if (in->algorithm == 0 || (size_t)in->algorithm == i + 1)
			call_key(c, KEY_LIMIT, in->key, state_parts[i]);
	call_send(c, on_forgotten);
}

static void list_item(struct json_out *o, struct request *req, struct text name, struct text part,
		      const struct reply *reply)
{
	const char *colon = memchr(part.at, ':', part.len);

	(void)req;
	(void)reply;
	if (!colon)
		return;
	size_t policy_len = (size_t)(colon - part.at);
	out_object(o, NULL);
	out_text(o, "key", name);
	out_text(o, "policy", (struct text){ part.at, policy_len });
	out_text(o, "algorithm", (struct text){ colon + 1, part.len - policy_len - 1 });
	out_close(o);
}

void ratelimit_list(struct request *req, const struct ratelimit_list_input *in)
{
	static const struct list_of limits = { .kind = KEY_LIMIT, .part_pattern = ":default:*", .item = list_item };

	list_keys(req, &limits, in->match, in->cursor, in->limit);
}
