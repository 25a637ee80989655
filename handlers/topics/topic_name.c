#include "topics/topic_name.h"

#include "common/key_kinds.h"

bool topic_name_is_pattern(struct text name)
{
	return name.len > 0 && name.at[name.len - 1] == '*';
}

bool topic_name_is_one(struct request *req, struct text name)
{
	if (!memchr(name.at, '*', name.len))
		return true;
	answer_field_problem(req, P_INVALID_NAME, "{name}",
			     "must not hold *; GET /topics/stream?name=news.* listens to all topics of a prefix");
	return false;
}

bool topic_name_covers(struct text pattern, struct text name)
{
	size_t len = pattern.len - 1;

	return topic_name_is_pattern(pattern) && name.len >= len && memcmp(pattern.at, name.at, len) == 0;
}

/* Answers 400: both names have the same messages, so these would arrive twice. */
static bool refuse_twice(struct request *req, struct text name, struct text other)
{
	if (text_equal(name, other))
		answer_field_problem(req, P_INVALID_VALUE, "?name", "has '%s' twice", name.at);
	else
		answer_field_problem(req, P_INVALID_VALUE, "?name",
				     "has '%s', which '%s' covers, so its messages would arrive twice", name.at,
				     other.at);
	return false;
}

bool topic_names_fit(struct request *req, const struct text *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *star = memchr(names[i].at, '*', names[i].len);
		if (star && star != names[i].at + names[i].len - 1) {
			answer_field_problem(req, P_INVALID_NAME, "?name",
					     "may hold one *, as its last character, not '%s'", names[i].at);
			return false;
		}
	}
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count; k++)
			if (i != k && (topic_name_covers(names[k], names[i]) || text_equal(names[k], names[i])))
				return refuse_twice(req, names[i], names[k]);
	return true;
}

struct text topic_name_of(struct text key)
{
	size_t prefix = strlen(config()->prefix), head = prefix + sizeof(KEY_TOPIC ":{") - 1;

	if (key.len < head + 1 || memcmp(key.at, config()->prefix, prefix) != 0 ||
	    memcmp(key.at + prefix, KEY_TOPIC ":{", head - prefix) != 0 || key.at[key.len - 1] != '}')
		return (struct text){ 0 };
	return (struct text){ key.at + head, key.len - head - 1 };
}
