#include "sqs/sqs_queues.h"

#include <string.h>

#include "contract/gateway.h"
#include "sqs/sqs_name.h"
#include "sqs/sqs_queue_attributes.h"
#include "sqs/sqs_tags.h"

enum { LIST_MOST = 1000, RETENTION_MS = 345600000, FIFO_DEDUPE_MS = 300000, RETRY_DEDUPE_MS = 60000 };

/* ---- CreateQueue ---- */

static void answer_url(struct sqs_call *s)
{
	struct text url = sqs_url_of(s->req, s->queue);

	out_text(sqs_answer_begin(s), "QueueUrl", url);
	sqs_answer_end(s);
}

static struct text given(const struct sqs_call *s, const char *attribute)
{
	return json_tree_string(json_tree_member(s->in, "Attributes"), attribute);
}

/* Writes the settings that Attributes have left open, so that a new queue acts as in SQS. */
static void out_defaults(struct sqs_call *s, struct json_out *body)
{
	out_object(body, "backoff");
	out_int(body, "base_ms", 0);
	out_int(body, "max_ms", 0);
	out_close(body);
	out_int(body, "dedupe_ms", s->is_fifo ? FIFO_DEDUPE_MS : RETRY_DEDUPE_MS);
	if (!given(s, "RedrivePolicy").len)
		out_int(body, "max_receives", 0);
	if (!given(s, "MessageRetentionPeriod").len)
		out_int(body, "ttl_ms", RETENTION_MS);
	if (s->is_fifo)
		out_string(body, "order", "strict");
}

static void on_created(struct request *req);

static void create(struct sqs_call *s)
{
	struct json_out body;

	sqs_body_begin(s, &body);
	sqs_queue_attributes_out_settings(s, &body, true);
	out_defaults(s, &body);
	sqs_run_create(s, "queue_put", s->queue, &body, on_created);
}

static void on_looked(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);
	const struct json *queue = sqs_answer(s);

	if (!queue)
		return;
	const char *difference = sqs_queue_attributes_difference(s, queue);
	if (!json_tree_is_true(queue, "exists"))
		sqs_queue_attributes_look_at_target(s, create);
	else if (!difference)
		answer_url(s);
	else if (s->gateway.is_blind)
		sqs_fail(
			s, SQS_QUEUE_NAME_EXISTS,
			"A queue already exists with the same name and a different value for an attribute. A token with "
			"the scope 'queues:%s:read' gets the attribute's name.",
			s->queue.at);
	else
		sqs_fail(s, SQS_QUEUE_NAME_EXISTS,
			 "A queue already exists with the same name and a different value for attribute %s",
			 difference);
}

/* A queue that another client created after the look is compared, as one that existed before. */
static void on_created(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);

	if (sqs_problem(s) && sqs_problem(s)->status == 412)
		sqs_look_to_create(s, on_looked);
	else if (sqs_problem(s))
		sqs_fail_by_problem(s);
	else
		answer_url(s);
}

void sqs_create_queue(struct sqs_call *s)
{
	if (!sqs_name_is_valid(s->queue))
		sqs_fail(s, SQS_INVALID_PARAMETER,
			 "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length");
	else if (s->is_fifo && !given(s, "FifoQueue").len)
		sqs_fail(s, SQS_INVALID_PARAMETER, "The queue name ends in .fifo, but FifoQueue is not true.");
	else if (sqs_queue_attributes_check(s) && sqs_tags_check(s, json_tree_member(s->in, "tags")))
		sqs_look_to_create(s, on_looked);
}

/* ---- Other actions ---- */

static void on_url(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);

	if (sqs_answer_existing(s))
		answer_url(s);
}

/* Any scope on the queue suffices: senders and receivers ask for the URL before all else. */
void sqs_get_queue_url(struct sqs_call *s)
{
	sqs_look(s, s->queue, on_url);
}

/*
 * In SQS a `*` of the prefix is a literal character; `match` of queue_list takes it for any text.
 */
static bool has_prefix(const struct sqs_call *s, struct text name)
{
	struct text prefix = json_tree_string(s->in, "QueueNamePrefix");

	return !prefix.len || (name.len >= prefix.len && memcmp(name.at, prefix.at, prefix.len) == 0);
}

static void on_listed(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);
	const struct json *page = sqs_answer(s), *items = json_tree_member(page, "items");
	struct text next = json_tree_string(page, "next_cursor");
	bool is_paged = sqs_has_int(s, "MaxResults"), is_open = false;

	if (!page)
		return;
	struct json_out *o = sqs_answer_begin(s);
	for (const struct json *q = items ? items->first : NULL; q; q = q->next) {
		struct text name = json_tree_string(q, "name");
		if (!has_prefix(s, name))
			continue;
		if (!is_open)
			out_array(o, "QueueUrls");
		is_open = true;
		out_text(o, NULL, sqs_url_of(req, name));
	}
	if (is_open)
		out_close(o);
	if (next.at && is_paged)
		out_text(o, "NextToken", next);
	sqs_answer_end(s);
}

void sqs_list_queues(struct sqs_call *s)
{
	struct text prefix = json_tree_string(s->in, "QueueNamePrefix"), cursor = json_tree_string(s->in, "NextToken");
	size_t plain = prefix.at ? strcspn(prefix.at, "*") : 0;
	char limit[TEXT_DIGITS];
	int64_t most;

	if (!sqs_int(s, "MaxResults", 1, LIST_MOST, LIST_MOST, &most, "Must be between 1 and 1000, if provided."))
		return;
	const struct text_pair query[] = {
		{ TEXT("limit"), text_of_int(most, limit) },
		{ TEXT("match"), arena_printf(&s->req->arena, "%.*s*", (int)plain, prefix.at ? prefix.at : "") },
		{ TEXT("cursor"), cursor },
	};
	gateway_run(s->req, self_call_operation("queue_list"),
		    &(struct self_call_input){ .query = query, .query_count = cursor.len ? 3 : 2 }, on_listed);
}

void sqs_delete_queue(struct sqs_call *s)
{
	sqs_run(s, "queue_delete", s->queue, NULL, sqs_on_done);
}

static void on_purged_look(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);

	if (sqs_answer_existing(s))
		sqs_run(s, "queue_purge", s->queue, NULL, sqs_on_done);
}

void sqs_purge_queue(struct sqs_call *s)
{
	sqs_look(s, s->queue, on_purged_look);
}

static void on_attributes(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);
	const struct json *queue = sqs_answer_existing(s);

	if (!queue)
		return;
	sqs_queue_attributes_out(s, sqs_answer_begin(s), queue);
	sqs_answer_end(s);
}

void sqs_get_queue_attributes(struct sqs_call *s)
{
	if (sqs_queue_attributes_check_names(s))
		sqs_run(s, "queue_get", s->queue, NULL, on_attributes);
}

static void change(struct sqs_call *s)
{
	struct json_out body;

	sqs_body_begin(s, &body);
	sqs_queue_attributes_out_settings(s, &body, false);
	sqs_run(s, "queue_patch", s->queue, &body, sqs_on_done);
}

static void on_settings(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);

	if (sqs_answer_existing(s))
		sqs_queue_attributes_look_at_target(s, change);
}

void sqs_set_queue_attributes(struct sqs_call *s)
{
	if (sqs_queue_attributes_check(s))
		sqs_look(s, s->queue, on_settings);
}
