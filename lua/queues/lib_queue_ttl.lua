-- Messages past their ttl that no receive has come upon.

-- past_ttl(limit): the messages that only wait to be dropped, in the order in which their ttl
-- ended, and the members of `groups` that were looked at, at most `limit`. A message in flight is
-- not among them: its delivery decides.
local function past_ttl(limit)
  local list = {}
  local members = redis.call('ZRANGE', keys[GROUPS], '(0', '-' .. instant, 'BYSCORE', 'REV', 'LIMIT', '0', limit)
  for _, member in ipairs(members) do
    local m, state = find_sequence(member:sub(2))
    if state == 'expired' and m.place ~= keys[FLIGHT] and m.place ~= keys[DEAD] then
      list[#list + 1] = m
    end
  end
  return list, members
end

-- plan_past_ttl(limit): plans to drop them. Returns how many members were looked at. Call it where
-- nothing else is planned.
local function plan_past_ttl(limit)
  local list, members = past_ttl(limit)
  for _, member in ipairs(members) do
    plan('ZREM', keys[GROUPS], member)
  end
  for _, m in ipairs(list) do
    drop(m)
  end
  return #members
end
