/*
 * notify: reports the daemon's state to a service manager, as sd_notify(3) does: one datagram to
 * NOTIFY_SOCKET. Without that variable it does nothing. It never waits. It must not know what a
 * state means.
 */
#ifndef PATTERND_NOTIFY_H
#define PATTERND_NOTIFY_H

/*
 * `state` is "READY=1" or "STOPPING=1"; further lines are separated by newlines, see sd_notify(3).
 */
void notify_manager(const char *state);

#endif
