#include "sqs/sqs_tags.h"

#include <string.h>

#include "sqs/sqs_call.h"

enum { TAGS_MOST = 50, KEY_MOST = 128, VALUE_MOST = 256 };

#define PREFIX "sqs.tag."

/* Returns the key of a tag; absent if the annotation is not a tag. */
static struct text key_of(const struct json *annotation)
{
	size_t len = sizeof(PREFIX) - 1;
	struct text t = annotation->key;

	return t.len > len && memcmp(t.at, PREFIX, len) == 0 ? (struct text){ t.at + len, t.len - len }
							     : (struct text){ 0 };
}

static void refuse_count(struct sqs_call *s)
{
	sqs_fail(s, SQS_INVALID_PARAMETER, "Too many tags added for queue %s.", s->queue.at);
}

static void out_tags(struct sqs_call *s, struct json_out *annotations, const struct json *tags)
{
	for (const struct json *t = tags ? tags->first : NULL; t; t = t->next) {
		out_key(annotations, arena_printf(&s->req->arena, PREFIX "%s", t->key.at));
		out_text(annotations, NULL, t->text);
	}
}

void sqs_tags_out_given(struct sqs_call *s, struct json_out *annotations)
{
	out_tags(s, annotations, json_tree_member(s->in, "tags"));
}

static bool is_given(const struct json *tags, struct text key)
{
	for (const struct json *t = tags->first; t; t = t->next)
		if (text_equal(t->key, key))
			return true;
	return false;
}

static const struct json *annotations_of(const struct json *queue)
{
	return json_tree_member(json_tree_member(queue, "settings"), "annotations");
}

/* Returns how many tags the queue will have. */
static size_t count_of(const struct json *queue, const struct json *tags)
{
	const struct json *annotations = annotations_of(queue);
	size_t count = tags->count;

	for (const struct json *a = annotations ? annotations->first : NULL; a; a = a->next) {
		struct text key = key_of(a);
		count += key.at && !is_given(tags, key);
	}
	return count;
}

static bool is_repeated(const struct json *keys, const struct json *key)
{
	for (const struct json *k = keys->first; k != key; k = k->next)
		if (text_equal(k->text, key->text))
			return true;
	return false;
}

/* Sets the tags of a TagQueue, or removes the tags that an UntagQueue names. */
static void on_looked(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);
	const struct json *queue = sqs_answer_existing(s), *tags = json_tree_member(s->in, "Tags");
	const struct json *keys = json_tree_member(s->in, "TagKeys");
	struct json_out body;

	if (!queue)
		return;
	if (tags && count_of(queue, tags) > TAGS_MOST) {
		refuse_count(s);
		return;
	}
	sqs_body_begin(s, &body);
	out_object(&body, "annotations");
	out_tags(s, &body, tags);
	for (const struct json *k = keys ? keys->first : NULL; k; k = k->next) {
		if (is_repeated(keys, k))
			continue;
		out_key(&body, arena_printf(&req->arena, PREFIX "%s", k->text.at));
		out_null(&body, NULL);
	}
	out_close(&body);
	sqs_run(s, "queue_patch", s->queue, &body, sqs_on_done);
}

bool sqs_tags_check(struct sqs_call *s, const struct json *tags)
{
	for (const struct json *t = tags ? tags->first : NULL; t; t = t->next)
		if (t->kind != JSON_IS_TEXT || !t->key.len || t->key.len > KEY_MOST || t->text.len > VALUE_MOST) {
			sqs_fail(s, SQS_INVALID_PARAMETER,
				 "Tag keys must be between 1 and %d characters in length, and values at most %d.",
				 KEY_MOST, VALUE_MOST);
			return false;
		}
	if (!tags || tags->count <= TAGS_MOST)
		return true;
	refuse_count(s);
	return false;
}

void sqs_tag_queue(struct sqs_call *s)
{
	const struct json *tags = json_tree_member(s->in, "Tags");

	if (!tags->count)
		sqs_fail(s, SQS_MISSING_PARAMETER, "The request must contain the parameter Tags.");
	else if (sqs_tags_check(s, tags))
		sqs_look(s, s->queue, on_looked);
}

void sqs_untag_queue(struct sqs_call *s)
{
	const struct json *keys = json_tree_member(s->in, "TagKeys");
	bool ok = keys->count;

	for (const struct json *k = keys->first; ok && k; k = k->next)
		ok = k->kind == JSON_IS_TEXT && k->text.len >= 1 && k->text.len <= KEY_MOST &&
		     !memchr(k->text.at, '\0', k->text.len);
	if (ok)
		sqs_look(s, s->queue, on_looked);
	else
		sqs_fail(s, SQS_INVALID_PARAMETER, "Tag keys must be between 1 and 128 characters in length.");
}

static void on_listed(struct request *req)
{
	struct sqs_call *s = sqs_call_of(req);
	const struct json *queue = sqs_answer_existing(s), *annotations = annotations_of(queue);
	bool is_open = false;

	if (!queue)
		return;
	struct json_out *o = sqs_answer_begin(s);
	for (const struct json *a = annotations ? annotations->first : NULL; a; a = a->next) {
		struct text key = key_of(a);
		if (!key.at)
			continue;
		if (!is_open)
			out_object(o, "Tags");
		is_open = true;
		out_key(o, key);
		out_text(o, NULL, a->text);
	}
	if (is_open)
		out_close(o);
	sqs_answer_end(s);
}

void sqs_list_queue_tags(struct sqs_call *s)
{
	sqs_run(s, "queue_get", s->queue, NULL, on_listed);
}
