/*
 * notify: reports the daemon's state to a service manager by sd_notify(3): one datagram to
 * NOTIFY_SOCKET. Does nothing without that variable, and never waits.
 */
#ifndef PATTERND_NOTIFY_H
#define PATTERND_NOTIFY_H

/* "READY=1", "STOPPING=1"; more lines are separated by newlines, see sd_notify(3). */
void notify_manager(const char *state);

#endif
