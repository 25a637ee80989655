/*
 * gauges: what /metrics shows of all servers of Redis together. It must not know how a call finds
 * its server.
 */
#ifndef PATTERND_TOPOLOGY_GAUGES_H
#define PATTERND_TOPOLOGY_GAUGES_H

/* Call it once. */
void gauges_open(void);

#endif
