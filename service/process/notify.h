/*
 * notify: tells a service manager how the daemon stands, in the protocol of sd_notify(3): one datagram to NOTIFY_SOCKET.
 *
 * Does nothing when nobody asked for it, and never waits.
 */
#ifndef PATTERND_NOTIFY_H
#define PATTERND_NOTIFY_H

/* "READY=1", "STOPPING=1"; more lines are separated by newlines, see sd_notify(3). */
void notify_manager(const char *state);

#endif
