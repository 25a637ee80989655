-- A walk through the messages of one group, in steps. `delayed` and `dead` have no index by group,
-- so all their members are read.
local LOOKED_MOST = 5000
local looked_at = 0

-- rank_behind(key, cursor): the rank after the last member that stayed. If that member is gone, the
-- rank of the first member with its score. The cursor is score, a blank and member.
local function rank_behind(key, cursor)
  local score, member = cursor:match('^(%S+) (.*)$')
  if not score then
    return 0
  end
  local rank = redis.call('ZRANK', key, member)
  return rank and rank + 1 or redis.call('ZCOUNT', key, '-inf', '(' .. score)
end

-- walk(key, group, cursor, is_wanted, take): calls take(m) for each message of the group with
-- is_wanted(score), until the step has done its part. take() returns false to end the step. Returns
-- the cursor of the next step, nil at the end. The walk writes nothing.
local function walk(key, group, cursor, is_wanted, take)
  local rank = rank_behind(key, cursor)
  while true do
    local flat = redis.call('ZRANGE', key, format('%d', rank), format('%d', rank + 99), 'WITHSCORES')
    local found, stayed = {}, {}
    for i = 1, #flat, 2 do
      if flat[i]:sub(19) == group and #flat[i] > 18 and is_wanted(tonumber(flat[i + 1])) then
        found[#found + 1], found[#found + 2] = flat[i], flat[i + 1]
        stayed[#found / 2] = cursor
      else
        cursor = flat[i + 1] .. ' ' .. flat[i]
      end
    end
    local ended_at = take_each(messages_of(key, found), take)
    if ended_at then
      return stayed[ended_at]
    end
    rank, looked_at = rank + #flat / 2, looked_at + #flat / 2
    if #flat < 200 then
      return nil
    elseif looked_at >= LOOKED_MOST or out_of_time() then
      return cursor
    end
  end
end
