/*
 * topic_name: names of topics, and patterns. A pattern is a name that ends in `*`; it covers every
 * topic that begins with the text before. A topic's own name has no `*`.
 */
#ifndef PATTERND_TOPIC_NAME_H
#define PATTERND_TOPIC_NAME_H

#include "common/handler.h"

/* Returns true for the name of a topic. If it has a `*`, answers 400 and returns false. */
bool topic_name_is_one(struct request *req, struct text name);

bool topic_name_is_pattern(struct text name);
/*
 * Returns true if `pattern` is a pattern that covers the topic `name`, or all topics of the pattern
 * `name`.
 */
bool topic_name_covers(struct text pattern, struct text name);

/*
 * Checks the names of one stream: `*` may only be the last character, and no message may arrive
 * twice. If they are invalid, answers 400 and returns false.
 */
bool topic_names_fit(struct request *req, const struct text *names, size_t count);

/*
 * The name whose channel carries the messages for patterns: lua/topics/topic_publish.lua. No topic
 * can have it.
 */
#define TOPIC_OF_PATTERNS TEXT("*")

/*
 * Returns the topic of a channel or key of topics; absent for any other. The text points into
 * `key`.
 */
struct text topic_name_of(struct text key);

#endif
