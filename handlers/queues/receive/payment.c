#include "queues/receive/payment.h"

#include "common/allowance.h"
#include "common/key_kinds.h"
#include "queues/queue_call.h"

/*
 * A queue is held for at most HOLD_MAX_MS and then tried again, since the policy may have been
 * changed or refunded. It is held for HOLD_FAILED_MS if the policy could not be asked.
 */
enum { HOLD_MAX_MS = 60000, HOLD_FAILED_MS = 1000 };

static void pay_next(struct request *req);

void queue_payment_take_in(struct queue_payment *p, struct request *req, size_t queue, const struct reply *row)
{
	struct text name = reply_text(row, QUEUE_DELIVERY_STORED_STATE), key = reply_text(row, QUEUE_DELIVERY_CONTENT);
	if (p->policy_count < QUEUES_MAX)
		p->policies[p->policy_count++] =
			(struct queue_policy){ .queue = queue,
					       .name = arena_copy(&req->arena, name.at, name.len),
					       .key = arena_copy(&req->arena, key.at, key.len) };
}

void queue_payment_call_delivery(struct request *req, struct call *c, bool is_done, const struct reply *m)
{
	struct text content = is_done ? reply_text(m, QUEUE_DELIVERY_CONTENT) : TEXT("");
	struct text parts[] = { reply_text(m, QUEUE_DELIVERY_SEQUENCE), reply_text(m, QUEUE_DELIVERY_STORED_STATE),
				content };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		call_text(c, arena_copy(&req->arena, parts[i].at, parts[i].len));
}

static void end(struct request *req)
{
	struct queue_payment *p = req->work;

	req->work = p->work;
	req->on_disconnect = p->on_disconnect;
	p->done(req, p);
}

static void on_gone(struct request *req, const struct reply *r)
{
	struct queue_payment *p = req->work;

	(void)r;
	req->work = p->work;
	if (p->on_disconnect)
		p->on_disconnect(req, NULL);
}

static bool is_of(const struct queue_payment *p, size_t i)
{
	return p->deliveries[i].queue == p->policies[p->at].queue;
}

/* Drops the deliveries of the policy's queue that are not paid; they are not handed out. */
static void drop_unpaid(struct queue_payment *p)
{
	size_t kept = p->first;

	for (size_t i = p->first; i < p->count; i++)
		if (!is_of(p, i) || p->deliveries[i].is_paid)
			p->deliveries[kept++] = p->deliveries[i];
	p->was_refused |= kept < p->count;
	p->count = kept;
}

/* A message that could not be returned is redelivered when its visibility timeout ends. */
static void on_returned(struct request *req, const struct reply *r)
{
	struct queue_payment *p = req->work;

	(void)r;
	drop_unpaid(p);
	p->at++;
	pay_next(req);
}

static void return_unpaid(struct request *req, int64_t hold_ms)
{
	struct queue_payment *p = req->work;
	struct call *c = queue_call(req, &queue_delivery_return_script, p->queues[p->policies[p->at].queue]);

	for (size_t i = p->first; i < p->count; i++)
		if (is_of(p, i) && !p->deliveries[i].is_paid)
			queue_payment_call_delivery(req, c, p->acknowledge, p->deliveries[i].m);
	call_int(c, hold_ms);
	call_may_fail(c);
	call_send(c, on_returned);
}

/* ---- With an Idempotency-Key ---- */

static bool is_in(const struct reply *r, struct text sequence)
{
	for (size_t i = QUEUE_DELIVERY_PAY_SEQUENCE; i < r->count; i++)
		if (text_equal(reply_text(r, i), sequence))
			return true;
	return false;
}

/*
 * If the decision fails, no delivery is handed out. A retry decides, or their visibility timeouts
 * end.
 */
static void on_decided(struct request *req, const struct reply *r)
{
	struct queue_payment *p = req->work;

	if (!r)
		p->undecided = req->result->failed;
	for (size_t i = p->first; i < p->count; i++)
		if (is_of(p, i))
			p->deliveries[i].is_paid =
				r && is_in(r, reply_text(p->deliveries[i].m, QUEUE_DELIVERY_SEQUENCE));
	drop_unpaid(p);
	p->at++;
	pay_next(req);
}

static void decide(struct request *req, bool is_all, int64_t hold_ms)
{
	struct queue_payment *p = req->work;
	size_t queue = p->policies[p->at].queue;
	struct call *c = queue_call(req, &queue_delivery_pay_script, p->queues[queue]);
	struct text nonce = reply_text(p->deliveries[p->first].m, QUEUE_DELIVERY_STORED_STATE);

	call_record_key(c, call_key_name(req, KEY_QUEUE, p->queues[0], NULL));
	call_int(c, (int64_t)queue);
	call_text(c, arena_copy(&req->arena, nonce.at, nonce.len < NONCE_DIGITS ? nonce.len : NONCE_DIGITS));
	if (is_all)
		call_string(c, "");
	else
		call_int(c, hold_ms);
	for (size_t i = p->first; i < p->count; i++) {
		struct text sequence = reply_text(p->deliveries[i].m, QUEUE_DELIVERY_SEQUENCE);
		if (is_of(p, i) && p->deliveries[i].is_paid)
			call_text(c, arena_copy(&req->arena, sequence.at, sequence.len));
	}
	call_may_fail(c);
	call_send(c, on_decided);
}

static int64_t unpaid(const struct queue_payment *p)
{
	int64_t count = 0;

	for (size_t i = p->first; i < p->count; i++)
		count += is_of(p, i);
	return count;
}

static void on_paid(struct request *req, const struct allowance *a)
{
	struct queue_payment *p = req->work;
	int64_t hold_ms = a->failed || !a->exists ? HOLD_FAILED_MS : a->more_in_ms;
	int64_t granted = a->granted;
	bool is_all = granted >= unpaid(p);

	p->policies[p->at].failed = a->failed;
	p->policies[p->at].is_missing = !a->failed && !a->exists;
	for (size_t i = p->first; i < p->count; i++)
		if (is_of(p, i))
			p->deliveries[i].is_paid = granted-- > 0;
	hold_ms = hold_ms < HOLD_MAX_MS ? hold_ms : HOLD_MAX_MS;
	if (!is_all && hold_ms < p->hold_ms)
		p->hold_ms = hold_ms;
	if (req->asked.idempotency_key.at) {
		decide(req, is_all, hold_ms);
	} else if (is_all) {
		p->at++;
		pay_next(req);
	} else {
		return_unpaid(req, hold_ms);
	}
}

static void pay_next(struct request *req)
{
	struct queue_payment *p = req->work;

	while (p->at < p->policy_count && unpaid(p) == 0)
		p->at++;
	if (p->at == p->policy_count)
		end(req);
	else
		allowance()->take(req, p->policies[p->at].name, p->policies[p->at].key, unpaid(p), on_paid);
}

void queue_payment_begin(struct request *req, struct queue_payment *p)
{
	p->hold_ms = HOLD_MAX_MS;
	p->work = req->work;
	p->on_disconnect = req->on_disconnect;
	req->work = p;
	req->on_disconnect = on_gone;
	pay_next(req);
}
