-- A message of a group came due (`due[k]`, since `score`). In a strict queue a message whose mark
-- stayed was delivered before, and is ready at once. Any other message takes its place among the
-- messages of its group. Needs `due`, `k` and `score` of lib_receive_time.lua. This part must not
-- know whether its group has room.
local place, group = due[k]:sub(1, 18), due[k]:sub(19)
if rules and rules.order == 'strict' and redis.call('ZSCORE', busy_key, group .. TAKEN .. place) then
  plan('ZADD', ready_key, score, due[k])
else
  plan('ZADD', order_key, '0', group .. '\0' .. place)
  touch(group)
end
