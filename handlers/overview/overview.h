/*
 * overview: GET /overview, and what handlers/patterns.c calls for it. It must not know a pattern:
 * it reads answers of the contract's operations. docs/operate.md describes the findings.
 */
#ifndef PATTERND_OVERVIEW_H
#define PATTERND_OVERVIEW_H

/* Ends a round that is under way. Call it after the last client has disconnected. */
void overview_close(void);

#endif
