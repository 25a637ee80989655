-- The rules of queue `q`: `rules` as a table, `room`, how many messages it may hand out, whether it
-- is held for its policy, and whether groups are held whose instant has come (`unholds`). A message
-- that is acknowledged at once does not count for `concurrency`. This part must not know which
-- messages are ready. Needs the variables of lib_receive_look.lua.
--@include queue_rules queue_rate
local all = settings[6] and read_rules(settings[6]) or {}
q.rules_text, q.rules, q.policy = settings[6], next(all) and all, all.policy
q.result_ms = settings[6] and tonumber(settings[6]:match('^result_ms=(%d+)'))
q.paused_until = tonumber(settings[7] or 0)
q.is_held = all.policy and (redis.call('HGET', queue_key, 'held_until') or '') > instant
local rules = acknowledges and { rate = all.rate } or all
--@include queue_budget
q.room, q.rate_stored, q.spend = budget, rate_stored, all.rate and rate_spent
q.unholds = (q.rules or q.paused_until > 0) and redis.call('ZCOUNT', groups_key, '0', instant) > 0
