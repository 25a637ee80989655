-- Deliveries whose visibility has ended and that no script has settled yet. Wants
-- queues/lib_queue.lua.

-- At most `limit` of them, oldest first. Each is a message as it will be once settled, with `state`
-- 'due', 'dead' or 'expired' and `at` accordingly; its place is still the flight. What a look shows
-- and what a settling writes is so the same.
local function ended_deliveries(queue, limit)
  local list = {}
  local flat = read('ZRANGE', flight_key, '-inf', digits(now), 'BYSCORE', 'LIMIT', '0', limit, 'WITHSCORES')
  for i, m in ipairs(messages_of(flight_key, flat)) do
    m.state = m.lost and 'expired' or end_visibility(queue, m)
    list[i] = m
  end
  return list
end

local function stands_before(a, b)
  if a.at ~= b.at then
    return a.at < b.at
  end
  return a.seq < b.seq
end

-- Those that will be in `key`, in its order.
local function ended_bound_for(ended, key)
  local list = {}
  for _, m in ipairs(ended) do
    if (m.state == 'due' and due_key(m.priority) == key) or (m.state == 'dead' and key == dead_key) then
      list[#list + 1] = m
    end
  end
  table.sort(list, stands_before)
  return list
end

-- Two lists in order made one.
local function merged(a, b)
  if #b == 0 then
    return a
  end
  local list, j = {}, 1
  for _, m in ipairs(a) do
    while b[j] and stands_before(b[j], m) do
      list[#list + 1] = b[j]
      j = j + 1
    end
    list[#list + 1] = m
  end
  for k = j, #b do
    list[#list + 1] = b[k]
  end
  return list
end
