#include "queues/receive/receive_lacks.h"

#include "common/handler.h"

static bool is_lacking(const struct receive_lacks *l, size_t queue)
{
	return l->of && (l->of[queue].failed || l->of[queue].policy.at);
}

void receive_lacks_begin(struct receive_lacks *l)
{
	l->of = NULL;
}

static void note(struct request *req, struct receive_lacks *l, size_t queue, struct receive_lack lack)
{
	if (!l->of)
		l->of = arena_alloc(&req->arena, l->count * sizeof(*l->of));
	if (l->of)
		l->of[queue] = lack;
}

void receive_lacks_note(struct request *req, struct receive_lacks *l, size_t queue, struct call *failed)
{
	note(req, l, queue, (struct receive_lack){ .failed = failed });
	if (call_problem_is_unknown(failed))
		l->unknown |= (uint16_t)(1U << queue);
}

void receive_lacks_note_policies(struct request *req, struct receive_lacks *l, const struct queue_payment *p)
{
	for (size_t i = 0; i < p->policy_count; i++) {
		const struct queue_policy *policy = &p->policies[i];
		if (policy->failed)
			receive_lacks_note(req, l, policy->queue, policy->failed);
		else if (policy->is_missing)
			note(req, l, policy->queue, (struct receive_lack){ .policy = policy->name });
	}
}

bool receive_lacks_some(const struct receive_lacks *l)
{
	return l->of != NULL;
}

bool receive_lacks_all(const struct receive_lacks *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (!is_lacking(l, i))
			return false;
	return true;
}

/* Answers the problem of the first queue, unless the call of another one may have had an effect. */
void receive_lacks_answer(struct request *req, const struct receive_lacks *l)
{
	const struct receive_lack *first = &l->of[0];

	for (size_t i = 0; i < l->count; i++)
		if (l->of[i].failed && call_problem_is_unknown(l->of[i].failed)) {
			first = &l->of[i];
			break;
		}
	if (first->failed)
		call_problem_answer(first->failed);
	else
		handler_answer_missing(req, "policy", first->policy);
}

void receive_lacks_out(struct json_out *o, const struct receive_lacks *l, const struct text *queues)
{
	if (!l->of && !l->unknown)
		return;
	out_array(o, "unanswered");
	for (size_t i = 0; i < l->count; i++) {
		bool is_unknown = l->unknown & 1U << i;
		if (!is_unknown && !is_lacking(l, i))
			continue;
		out_object(o, NULL);
		out_text(o, "queue", queues[i]);
		out_string(o, "effect", problem_effect_name(is_unknown ? EFFECT_UNKNOWN : EFFECT_NONE));
		out_close(o);
	}
	out_close(o);
}
