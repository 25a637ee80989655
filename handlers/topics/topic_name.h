/*
 * topic_name: names of topics, and patterns: a name that ends in `*` is every topic that begins
 * with what is before it. No topic has a `*` in its own name.
 */
#ifndef PATTERND_TOPIC_NAME_H
#define PATTERND_TOPIC_NAME_H

#include "common/handler.h"

/* True for the name of one topic. False: it has a `*`, which was answered. */
bool topic_name_is_one(struct request *req, struct text name);

bool topic_name_is_pattern(struct text name);
/* `pattern` is one, and has the topic of this name, or all topics of another pattern. */
bool topic_name_covers(struct text pattern, struct text name);

/*
 * Names that one stream may have at once: a `*` is the last character, and no message would come
 * twice. False: it was answered.
 */
bool topic_names_fit(struct request *req, const struct text *names, size_t count);

/* Its channel has the messages for patterns: lua/topics/topic_publish.lua. No topic is this one. */
#define TOPIC_OF_PATTERNS TEXT("*")

/* The topic of a channel, or key, of topics; absent for any other. Borrows. */
struct text topic_name_of(struct text key);

#endif
