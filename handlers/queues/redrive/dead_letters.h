/*
 * dead_letters: moves the dead letters of a queue into its `dead_letter_queue`, without a client.
 *
 * A reply that reports dead letters begins a move (dead_letters_move). If the daemon dies before
 * the move, a later reply reports them again. Unlike the operation queue_redrive, a move respects
 * the max_messages of the other queue, and waits while another daemon moves the letters.
 */
#ifndef PATTERND_QUEUE_DEAD_LETTERS_H
#define PATTERND_QUEUE_DEAD_LETTERS_H

#include "core/text.h"

/*
 * Begins a move soon, if the queue has the setting. A move that is under way looks for more letters
 * when it ends.
 */
void dead_letters_move(struct text queue);

/* From now on no move begins, since the daemon stops. Moves under way end soon. */
void dead_letters_drain(void);

#endif
