/*
 * queue_groups: purges or redrives many messages of one group, for queues/bulk.c. This file must
 * not know which messages these are: the scripts choose them.
 */
#ifndef PATTERND_QUEUE_GROUPS_H
#define PATTERND_QUEUE_GROUPS_H

#include "common/handler.h"

/*
 * Both functions call a script until it has finished, then answer. An empty state means all states.
 */
void queue_group_purge(struct request *req, struct text queue, struct text group, struct text state);
void queue_group_redrive(struct request *req, struct text queue, struct text group, int64_t limit);

#endif
