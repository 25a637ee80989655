/*
 * settle: see settle.h. The script is lua/queues/deliveries/queue_delivery_settle.lua, or
 * queue_delivery_complete.lua to store results, or queue_delivery_acknowledge.lua for one
 * acknowledgement.
 */
#include "queues/deliveries/settle.h"

#include <assert.h>

#include "common/key_kinds.h"
#include "queues/queue_metrics.h"
#include "queues/redrive/dead_letters.h"

/* REJECTED_LETTERS: as SETTLED_REJECTED, and the queue has dead letters to move. */
enum { RESULT_MAX_BYTES = 65536, REJECTED_LETTERS = 6 };

struct queue_settle *queue_settle_new(struct request *req, struct queue_settle given, size_t count)
{
	struct queue_settle *s = arena_alloc(&req->arena, sizeof(*s) + count * sizeof(s->rows[0]));

	if (s)
		*s = given;
	else
		answer_no_memory(req, EFFECT_NONE);
	return s;
}

void queue_settle_add(struct queue_settle *s, struct queue_settling row)
{
	s->counts[row.ending]++;
	s->rows[s->count++] = row;
}

/* ---- What is wrong ---- */

/* Returns the JSON pointer to a member of a delivery; `member` is "" for the delivery itself. */
static const char *pointer_to(struct request *req, const struct queue_settle *s, size_t i, const char *member)
{
	static const char *const lists[] = { "acknowledge", "complete", "reject" };
	enum queue_ending ending = s->rows[i].ending;

	assert(ending < sizeof(lists) / sizeof(lists[0]));
	for (int before = 0; before < (int)ending; before++)
		i -= s->counts[before];
	struct text pointer = arena_printf(&req->arena, "%s/%s/%zu%s", s->pointer, lists[ending], i, member);
	return pointer.at ? pointer.at : "";
}

/* False: the delivery's queue is not one of the request's queues. */
static bool find_queue(const struct queue_settle *s, struct queue_settling *row)
{
	if (!s->names_queue)
		row->queue = s->queues[0];
	for (row->of_queue = 0; row->of_queue < s->queue_count; row->of_queue++)
		if (text_equal(s->queues[row->of_queue], row->queue))
			return true;
	return false;
}

static bool check_row(struct request *req, struct queue_settle *s, size_t i)
{
	struct queue_settling *row = &s->rows[i];
	bool is_object = row->ending != QUEUE_ACKNOWLEDGE || s->names_queue;

	if (!find_queue(s, row))
		answer_field_problem(req, P_INVALID_VALUE, pointer_to(req, s, i, "/queue"), "must be one of queues");
	else if (!queue_is_receipt(req, row->queue, row->receipt))
		queue_answer_no_receipt(req, pointer_to(req, s, i, is_object ? "/receipt" : ""), row->queue);
	else if (row->ending == QUEUE_REJECT && queue_reject_conflict(&row->how))
		queue_answer_reject_conflict(req, pointer_to(req, s, i, queue_reject_conflict(&row->how)));
	else if (row->result.len > RESULT_MAX_BYTES)
		answer_field_problem(req, P_OUT_OF_RANGE, pointer_to(req, s, i, "/result"),
				     "has %zu bytes as JSON; %d are allowed", row->result.len, RESULT_MAX_BYTES);
	else
		return true;
	return false;
}

bool queue_settle_check(struct request *req, struct queue_settle *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (!check_row(req, s, i))
			return false;
	return true;
}

/* ---- The calls ---- */

static void on_reply(struct request *req, const struct reply *r);

/* Counts the deliveries of a queue that end in this way. */
static size_t count_of(const struct queue_settle *s, size_t queue, enum queue_ending ending)
{
	size_t count = 0;

	for (size_t i = 0; i < s->count; i++)
		count += s->rows[i].of_queue == queue && s->rows[i].ending == ending;
	return count;
}

static bool has_queue(const struct queue_settle *s, size_t queue)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->rows[i].of_queue == queue)
			return true;
	return false;
}

/* True if the call for a queue stores results. */
static bool stores_results(const struct queue_settle *s, size_t queue)
{
	return count_of(s, queue, QUEUE_COMPLETE) > 0 && !(s->without_results & 1U << queue);
}

static void add_row(struct request *req, struct call *c, const struct queue_settling *row, bool stores)
{
	queue_call_receipt(req, c, row->receipt);
	if (row->ending == QUEUE_COMPLETE) {
		call_text(c, stores ? row->result : TEXT(""));
	} else if (row->ending == QUEUE_REJECT) {
		queue_call_reject(c, &row->how);
	}
}

static void add_rows(struct request *req, struct call *c, const struct queue_settle *s, size_t queue, bool stores)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->rows[i].of_queue == queue)
			add_row(req, c, &s->rows[i], stores);
}

static void add_result_keys(struct request *req, struct call *c, const struct queue_settle *s, size_t queue)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->rows[i].of_queue == queue && s->rows[i].ending == QUEUE_COMPLETE)
			call_key(c, KEY_QUEUE, s->queues[queue],
				 arena_printf(&req->arena, "result:%.16s", s->rows[i].receipt.at).at);
}

/*
 * True for a single acknowledgement, which is the usual case of a worker: its script costs Redis
 * half of what the script for many costs. That script writes no idempotency record.
 */
static bool is_lone(const struct request *req, const struct queue_settle *s, size_t queue)
{
	return !req->asked.idempotency_key.at && count_of(s, queue, QUEUE_ACKNOWLEDGE) == 1 &&
	       count_of(s, queue, QUEUE_COMPLETE) + count_of(s, queue, QUEUE_REJECT) == 0;
}

static struct call *call_for_one(struct request *req, const struct queue_settle *s, size_t queue)
{
	struct call *c = queue_call(req, &queue_delivery_acknowledge_script, s->queues[queue]);

	add_rows(req, c, s, queue, false);
	queue_call_late(c, s->late);
	return c;
}

static void add_many(struct request *req, struct call *c, const struct queue_settle *s, size_t queue, bool stores)
{
	call_int(c, (int64_t)count_of(s, queue, QUEUE_ACKNOWLEDGE));
	call_int(c, (int64_t)count_of(s, queue, QUEUE_COMPLETE));
	add_rows(req, c, s, queue, stores);
}

static struct call *call_for_many(struct request *req, const struct queue_settle *s, size_t queue)
{
	bool stores = stores_results(s, queue);
	const struct script *script = stores ? &queue_delivery_complete_script : &queue_delivery_settle_script;
	struct call *c = queue_call(req, script, s->queues[queue]);

	if (stores)
		add_result_keys(req, c, s, queue);
	add_many(req, c, s, queue, stores);
	queue_call_late(c, s->late);
	if (s->is_part)
		call_record_part(c, arena_printf(&req->arena, "settle%zu", queue));
	return c;
}

static void send_queue(struct request *req, struct queue_settle *s, size_t queue)
{
	struct call *c = is_lone(req, s, queue) ? call_for_one(req, s, queue) : call_for_many(req, s, queue);

	call_may_fail(c);
	call_tag(c, queue);
	call_send(c, on_reply);
}

void queue_settle_send(struct request *req, struct queue_settle *s, void (*done)(struct request *req))
{
	for (size_t q = 0; q < s->queue_count; q++)
		s->pending += has_queue(s, q);
	s->done = done;
	s->work = req->work;
	req->work = s;
	for (size_t q = 0, sent = 0; q < s->queue_count; q++) {
		if (!has_queue(s, q))
			continue;
		req->has_effect = sent++ > 0; /* counts if memory runs out for this call */
		send_queue(req, s, q);
		req->has_effect = false; /* the answer reports what was settled */
	}
}

static enum queue_settled outcome_of(int64_t outcome)
{
	if (outcome == REJECTED_LETTERS)
		return SETTLED_REJECTED;
	return outcome > SETTLED_NOT_CURRENT && outcome < SETTLED_UNANSWERED ? (enum queue_settled)outcome
									     : SETTLED_NOT_CURRENT;
}

/*
 * Returns the outcome of a delivery: item `at` of a reply, or the outcome of a single
 * acknowledgement.
 */
static enum queue_settled outcome_in(const struct reply *r, size_t at, bool is_lone)
{
	int64_t outcome = is_lone ? reply_outcome(r) : reply_int(r, at);

	if (is_lone)
		return outcome == QUEUE_DELIVERY_ACKNOWLEDGE_CANCELLED ? SETTLED_CANCELLED
		       : outcome == QUEUE_DELIVERY_ACKNOWLEDGE_STALE   ? SETTLED_NOT_CURRENT
								       : SETTLED_ACKNOWLEDGED;
	return outcome_of(outcome);
}

/* Stores the outcomes of a queue. `r` is NULL if the call got no reply. */
static void take_outcomes(struct request *req, struct queue_settle *s, size_t queue, const struct reply *r)
{
	size_t at = QUEUE_DELIVERY_SETTLE_OUTCOMES, rejected = 0;
	bool has_letters = false;

	for (size_t i = 0; i < s->count; i++) {
		struct queue_settling *row = &s->rows[i];
		if (row->of_queue != queue)
			continue;
		has_letters |= r && !is_lone(req, s, queue) && reply_int(r, at) == REJECTED_LETTERS;
		row->outcome = r ? outcome_in(r, at++, is_lone(req, s, queue)) : SETTLED_UNANSWERED;
		rejected += row->outcome == SETTLED_REJECTED;
	}
	if (!r || reply_outcome(r) < 0)
		return;
	/* A delivery that was acknowledged before, within 150 s, is not counted again. */
	queue_metrics_count(req, s->queues[queue], QUEUE_ACKNOWLEDGED, (size_t)reply_outcome(r) - rejected);
	queue_metrics_count(req, s->queues[queue], QUEUE_REJECTED, rejected);
	if (has_letters)
		dead_letters_move(s->queues[queue]);
}

/* ---- In the turn of a worker ---- */

bool queue_settle_fits_turn(const struct request *req, const struct queue_settle *s)
{
	return s && s->count > 0 && s->counts[QUEUE_ACKNOWLEDGE] == s->count && s->queue_count == 1 && !s->late &&
	       !req->asked.idempotency_key.at;
}

void queue_settle_call(struct request *req, struct call *c, const struct queue_settle *s)
{
	if (is_lone(req, s, 0)) {
		call_string(c, queue_delivery_acknowledge_script.name);
		call_int(c, 2);
		add_rows(req, c, s, 0, false);
	} else {
		call_string(c, queue_delivery_settle_script.name);
		call_int(c, (int64_t)(2 + 2 * s->count));
		add_many(req, c, s, 0, false);
	}
}

void queue_settle_take(struct request *req, struct queue_settle *s, const struct reply *r)
{
	struct text outcomes = reply_text(r, QUEUE_TURN_OUTCOMES);

	for (size_t i = 0; i < s->count; i++)
		s->rows[i].outcome = outcome_of(i < outcomes.len ? outcomes.at[i] - '0' : 0);
	queue_metrics_count(req, s->queues[0], QUEUE_ACKNOWLEDGED, (size_t)reply_int(r, QUEUE_TURN_ACKNOWLEDGED));
}

/* ---- The replies ---- */

static void on_reply(struct request *req, const struct reply *r)
{
	struct queue_settle *s = req->work;
	size_t queue = req->result->tag;

	if (!r && stores_results(s, queue) && call_problem_is_memory(req->result->failed)) {
		s->without_results |= 1U << queue;
		send_queue(req, s, queue);
		return;
	}
	take_outcomes(req, s, queue, r);
	s->answered += r != NULL;
	if (!r)
		s->failed = req->result->failed;
	if (--s->pending > 0)
		return;
	req->work = s->work;
	if (s->answered > 0)
		s->done(req);
	else
		call_problem_answer(s->failed);
}

/* ---- The answer ---- */

static bool is_acknowledged(enum queue_settled outcome)
{
	return outcome == SETTLED_ACKNOWLEDGED || outcome == SETTLED_RESULT_KEPT;
}

void queue_settle_out(struct json_out *o, const struct queue_settle *s)
{
	static const char *const outcomes[SETTLED_COUNT] = { "not_current",  "acknowledged", "rejected",
							     "acknowledged", "cancelled",    "unanswered" };

	out_array(o, "deliveries");
	for (size_t i = 0; i < s->count; i++) {
		const struct queue_settling *row = &s->rows[i];
		out_object(o, NULL);
		if (s->names_queue)
			out_text(o, "queue", row->queue);
		out_text(o, "receipt", row->receipt);
		out_string(o, "outcome", outcomes[row->outcome]);
		if (row->ending == QUEUE_COMPLETE && is_acknowledged(row->outcome))
			out_bool(o, "result_stored", row->outcome == SETTLED_RESULT_KEPT);
		out_close(o);
	}
	out_close(o);
}

/* ---- POST /queues/{name}/settle ---- */

static void on_settled(struct request *req)
{
	const struct queue_delivery_settle_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	out_text(o, "name", in->name);
	queue_settle_out(o, req->work);
	answer_end(req);
}

void queue_delivery_settle(struct request *req, const struct queue_delivery_settle_input *in)
{
	size_t count = in->acknowledge.count + in->complete.count + in->reject.count;

	if (count == 0) {
		answer_field_problem(req, P_MISSING_FIELD, "/acknowledge",
				     "must have at least one receipt, unless complete or reject has one");
		return;
	}
	struct queue_settle given = { .queues = &in->name, .queue_count = 1, .late = in->late, .pointer = "" };
	struct queue_settle *s = req->work = queue_settle_new(req, given, count);
	for (size_t i = 0; s && i < in->acknowledge.count; i++)
		queue_settle_add(s, (struct queue_settling){ .receipt = in->acknowledge.items[i] });
	for (size_t i = 0; s && i < in->complete.count; i++)
		queue_settle_add(s, (struct queue_settling){ QUEUE_SETTLE_COMPLETED(&in->complete.items[i]) });
	for (size_t i = 0; s && i < in->reject.count; i++)
		queue_settle_add(s, (struct queue_settling){ QUEUE_SETTLE_REJECTED(&in->reject.items[i]) });
	if (s && queue_settle_check(req, s))
		queue_settle_send(req, s, on_settled);
}
