-- A message of a group came due (`due[k]`, since `score`). In a strict queue one whose mark stayed
-- was delivered before and goes on at once; any other takes its place among those of its group.
local place, group = due[k]:sub(1, 18), due[k]:sub(19)
if rules and rules.order == 'strict' and redis.call('ZSCORE', busy_key, group .. TAKEN .. place) then
  plan('ZADD', ready_key, score, due[k])
else
  plan('ZADD', order_key, '0', group .. '\0' .. place)
  touch(group)
end
