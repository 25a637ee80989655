/*
 * history: samples of the daemon's own figures over the last five minutes, for GET /info/history.
 */
#ifndef PATTERND_HISTORY_H
#define PATTERND_HISTORY_H

/* Starts the sampling. */
void history_open(void);

#endif
