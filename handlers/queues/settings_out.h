/* settings_out: the settings of a queue in an answer. It must not know what a setting does. */
#ifndef PATTERND_QUEUE_SETTINGS_OUT_H
#define PATTERND_QUEUE_SETTINGS_OUT_H

#include "call/call.h"
#include "json/out.h"

/* Writes the settings, which begin at item `at`, and the annotations. */
void queue_settings_out(struct json_out *o, const struct reply *r, size_t at, size_t annotations_at);

/*
 * Begins to move the dead letters of a queue, if its settings, from item `settings` on, have a
 * dead_letter_queue.
 */
void queue_settings_move_letters(struct text queue, const struct reply *r, size_t settings);

#endif
