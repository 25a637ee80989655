/* policy_allowance: implements common/allowance.h, so that other patterns can spend policies. */
#ifndef PATTERND_POLICY_ALLOWANCE_H
#define PATTERND_POLICY_ALLOWANCE_H

void policy_allowance_open(void);

#endif
