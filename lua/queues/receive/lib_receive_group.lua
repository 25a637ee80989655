-- Sets `g`, the group of `member`. `room` is how many of its messages may be handed out. If the
-- group is paused or has spent its rate, `until_us` is when that ends. Each group is read once.
-- This part must not know the message. Needs the variables of lib_receive_choose.lua.
if not q.groups then
--@include queue_rate
  local rules = q.rules or {}
  q.is_strict = rules.order == 'strict'
  q.groups, q.loses, q.gains, q.leaves, q.joins, q.heads, q.scores = {}, {}, {}, {}, {}, {}, {}
  q.hold = function(g)
    q.gains[#q.gains + 1], q.gains[#q.gains + 2] = '0', g.name .. '\0'
    q.scores[#q.scores + 1] = digits(math.max(math.ceil(g.until_us / 1000), now + 1))
    q.scores[#q.scores + 1] = 'h' .. g.name
    local mended = g.rate_stored and rate_mended(rules.group_rate, g.rate_stored)
    if mended then
      q.scores[#q.scores + 1], q.scores[#q.scores + 2] = mended, 'r' .. g.name
    end
  end
  q.rate_of = function(g, spent) -- what its rate leaves
    local left = rate_room(rules.group_rate, spent)
    g.rate_stored, g.until_us = spent, nil
    if left < 1 then
      g.until_us = math.max(rate_opens_at(rules.group_rate, spent), now_us + 1)
    end
    return left
  end
  q.spend_rate = function(g)
    local spent = rate_spent(rules.group_rate, g.rate_stored, g.taken)
    q.scores[#q.scores + 1], q.scores[#q.scores + 2] = spent, 'r' .. g.name
    return q.rate_of(g, spent)
  end
  q.group_of = function(name)
    local of_group = { name = name, room = math.huge, taken = 0, read = 0 }
    if q.is_strict then
      of_group.room = acknowledges and math.huge or 1
    elseif rules.group_concurrency then
      local taken = redis.call('ZLEXCOUNT', busy_key, '[' .. name .. '\2', '(' .. name .. '\3')
      of_group.room = rules.group_concurrency - taken
      of_group.room = acknowledges and of_group.room > 0 and math.huge or of_group.room
    end
    if rules.group_rate or q.paused_until > now then
      local stored = redis.call('ZMSCORE', groups_key, 'p' .. name, 'r' .. name)
      if rules.group_rate then
        of_group.room = math.min(of_group.room, q.rate_of(of_group, stored[2] or '0'))
      end
      if tonumber(stored[1] or 0) > now_us then
        of_group.room, of_group.until_us = 0, math.max(of_group.until_us or 0, tonumber(stored[1]))
      end
    end
    q.groups[name] = of_group
    q.groups[#q.groups + 1] = of_group
    return of_group
  end
end
g = q.groups[member:sub(19)] or q.group_of(member:sub(19))
