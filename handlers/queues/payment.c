/* queue_payment: see queues/payment.h. */
#include "queues/payment.h"

#include "common/allowance.h"
#include "queues/queue_call.h"

/*
 * A queue is held for at most so long: then it is looked at again, since the policy may have been
 * changed or refunded. And so long where it could not be asked.
 */
enum { HOLD_MAX_MS = 60000, HOLD_FAILED_MS = 1000 };

static void pay_next(struct request *req);

void queue_payment_take_in(struct queue_payment *p, struct request *req, size_t queue, const struct reply *row)
{
	struct text name = reply_text(row, QUEUE_DELIVERY_STORED_STATE), key = reply_text(row, QUEUE_DELIVERY_CONTENT);
	if (p->policy_count < QUEUES_MAX)
		p->policies[p->policy_count++] =
			(struct queue_policy){ queue, arena_copy(&req->arena, name.at, name.len),
					       arena_copy(&req->arena, key.at, key.len) };
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

/* What could not be returned is delivered again when its visibility ends. */
static void on_returned(struct request *req, const struct reply *r)
{
	struct queue_payment *p = req->work;

	(void)r;
	p->at++;
	pay_next(req);
}

static bool is_of(const struct queue_payment *p, size_t i)
{
	return p->deliveries[i].queue == p->policies[p->at].queue;
}

/* Those of the policy's queue behind the first `granted` are not handed out. */
static void return_rest(struct request *req, int64_t granted, int64_t hold_ms)
{
	struct queue_payment *p = req->work;

	hold_ms = hold_ms < HOLD_MAX_MS ? hold_ms : HOLD_MAX_MS;
	p->hold_ms = p->was_refused && p->hold_ms < hold_ms ? p->hold_ms : hold_ms;
	p->was_refused = true;
	struct call *c = queue_call(req, &queue_delivery_return_script, p->queues[p->policies[p->at].queue]);
	size_t kept = p->first;

	for (size_t i = p->first; i < p->count; i++) {
		if (!is_of(p, i) || granted-- > 0)
			p->deliveries[kept++] = p->deliveries[i];
		else if (!p->is_replay)
			queue_payment_call_delivery(req, c, p->acknowledge, p->deliveries[i].m);
	}
	p->count = kept;
	call_int(c, hold_ms);
	call_may_fail(c);
	call_send(c, on_returned);
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

	if (a->failed)
		p->failed = a->failed;
	else if (!a->exists)
		p->missing = p->policies[p->at].name;
	if (a->granted >= unpaid(p)) {
		p->at++;
		pay_next(req);
		return;
	}
	return_rest(req, a->granted, a->failed || !a->exists ? HOLD_FAILED_MS : a->more_in_ms);
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
	p->work = req->work;
	p->on_disconnect = req->on_disconnect;
	req->work = p;
	req->on_disconnect = on_gone;
	pay_next(req);
}
