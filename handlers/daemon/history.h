/* history: the daemon's own figures of the last minutes, so that a page just opened has a past. */
#ifndef PATTERND_HISTORY_H
#define PATTERND_HISTORY_H

/* Takes samples from the first request on. */
void history_open(void);

#endif
