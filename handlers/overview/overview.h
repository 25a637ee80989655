/* overview: GET /overview; what handlers/patterns.c calls for it. docs/operate.md. */
#ifndef PATTERND_OVERVIEW_H
#define PATTERND_OVERVIEW_H

/* Ends what is under way, after the last client has disconnected. */
void overview_close(void);

#endif
