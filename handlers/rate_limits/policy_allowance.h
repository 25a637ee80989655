/* policy_allowance: lets other patterns spend policies (common/allowance.h). */
#ifndef PATTERND_POLICY_ALLOWANCE_H
#define PATTERND_POLICY_ALLOWANCE_H

void policy_allowance_open(void);

#endif
