-- The end of a delivery of `m`, which has a group: reads which message of the group is next, and
-- makes `end_of_group`, which writes that. Sets `frees` when a message will be ready. This part
-- must not know how the delivery itself ends. Needs `m` and `stored` of queue_delivery_acknowledge,
-- queues/lib_queue_types.lua and queues/lib_queue_message.lua.
--@include queue_change queue_writes queue_rate queue_groups
rules, group_paused_until = stored[3] and read_rules(stored[3]), tonumber(stored[5] or 0)
local mark = m.group .. TAKEN .. place_of(m)
redis.call('ZCARD', busy_key)
if (group_limit() or rules and rules.was_limited) and promote(m.group, mark) then
  redis.call('ZCARD', ready_key)
  frees = true
end
plan('ZREM', busy_key, mark)
end_of_group = write_planned
