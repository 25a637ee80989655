/* receive_lacks: see queues/receive_lacks.h. */
#include "queues/receive_lacks.h"

#include "common/handler.h"

static bool is_lacking(const struct receive_lack *one)
{
	return one->failed || one->policy.at;
}

void receive_lacks_begin(struct receive_lacks *l)
{
	for (size_t i = 0; i < l->count; i++)
		l->of[i] = (struct receive_lack){ .is_unknown = l->of[i].is_unknown };
}

void receive_lacks_note(struct receive_lacks *l, size_t queue, struct call *failed)
{
	l->of[queue].failed = failed;
	l->of[queue].is_unknown |= call_problem_is_unknown(failed);
}

void receive_lacks_note_policies(struct receive_lacks *l, const struct queue_payment *p)
{
	for (size_t i = 0; i < p->policy_count; i++) {
		const struct queue_policy *policy = &p->policies[i];
		if (policy->failed)
			receive_lacks_note(l, policy->queue, policy->failed);
		else if (policy->is_missing)
			l->of[policy->queue].policy = policy->name;
	}
}

bool receive_lacks_some(const struct receive_lacks *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (is_lacking(&l->of[i]))
			return true;
	return false;
}

bool receive_lacks_all(const struct receive_lacks *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (!is_lacking(&l->of[i]))
			return false;
	return true;
}

/* The problem of the first queue; but a call that may have had an effect comes first. */
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

void receive_lacks_out(struct json_out *o, const struct receive_lacks *l)
{
	bool is_open = false;

	for (size_t i = 0; i < l->count; i++) {
		const struct receive_lack *one = &l->of[i];
		if (!is_lacking(one) && !one->is_unknown)
			continue;
		if (!is_open)
			out_array(o, "unanswered");
		is_open = true;
		out_object(o, NULL);
		out_text(o, "queue", l->queues[i]);
		out_string(o, "effect", problem_effect_name(one->is_unknown ? EFFECT_UNKNOWN : EFFECT_NONE));
		out_close(o);
	}
	if (is_open)
		out_close(o);
}
