/*
 * lingering_close: how a connection ends whose client may still be sending what nobody reads (RFC 9112, section 9.6).
 *
 * Closed at once it would be reset by what still comes, and a client that sends all before it reads would never see why it was refused.
 */
#ifndef PATTERND_LINGERING_CLOSE_H
#define PATTERND_LINGERING_CLOSE_H

/* A connection in one of them counts no more as a client, and has a descriptor of its own. */
enum { LINGERING_CLOSES_MAX = 32 };

/* Its socket is about to be closed: takes in what still comes, until the client closes too, for a second and a mebibyte at most. */
void lingering_close(int fd);

#endif
