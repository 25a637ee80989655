-- Everything whose time has ended, settled at once.

-- settle_time(limit, serves_later): settles at most `limit` deliveries that have ended, moves what
-- came due, and drops at most `limit` messages past their ttl, as settle_ended()
-- (queues/deliveries/lib_queue_ended.lua). Returns how many of these were looked at.
local function settle_time(limit, serves_later)
  check_types()
  check_groups()
  local count = plan_ended(limit) + plan_due('500')
  plan_unheld()
  commit(serves_later)
  count = count + plan_past_ttl(limit)
  commit(serves_later)
  return count
end

-- find_settled(id): as find(), for a script that changes the message. If its delivery has ended, or
-- if it has a group, which others may have left, what time has ended is settled first.
local function find_settled(id)
  local m, state = find(id)
  if m and (m.group ~= '' or m.place == keys[FLIGHT] and state ~= 'in_flight') then
    read_waiters() -- the script may make it ready, and this is the first write
    settle_time('250')
    m, state = find(id)
  end
  return m, state
end
