/*
 * lingering_close: closes a connection whose client may still be sending (RFC 9112, section 9.6).
 *
 * If it were closed at once, bytes that still arrive would reset it, and a client that sends
 * everything before it reads would never see why it was rejected.
 */
#ifndef PATTERND_LINGERING_CLOSE_H
#define PATTERND_LINGERING_CLOSE_H

/* At once. Such a connection no longer counts as a client, and has its own descriptor. */
enum { LINGERING_CLOSES_MAX = 32 };

/*
 * The caller is about to close the socket: reads and discards what arrives until the client closes,
 * for at most a second and a mebibyte.
 */
void lingering_close(int fd);

#endif
