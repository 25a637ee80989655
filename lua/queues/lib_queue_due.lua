-- What only had to wait: messages that came due, and groups whose hold has ended.

-- due_page(limit): the members of at most `limit` messages that came due, and their scores.
local function due_page(limit)
  return redis.call('ZRANGE', keys[DELAYED], '-inf', instant, 'BYSCORE', 'LIMIT', '0', limit, 'WITHSCORES')
end

-- retried_of(due): how many messages of a page were delivered before.
local function retried_of(due)
  local fields, count = {}, 0
  for k = 1, #due, 2 do
    fields[#fields + 1] = due[k]:sub(2, 17) .. 's'
  end
  for _, state in ipairs(fields[1] and redis.call('HMGET', keys[QUEUE], unpack(fields)) or {}) do
    count = count + (state and read_state(state).receives > 0 and 1 or 0)
  end
  return count
end

-- plan_due(limit): plans that at most `limit` messages that came due are ready, or blocked. Returns
-- how many. In a strict queue a message whose mark stayed was delivered before, and is ready at
-- once. Any other message of a group takes its place among the messages of its group.
local function plan_due(limit)
  local due = due_page(limit)
  if due[1] and (redis.call('HGET', keys[QUEUE], 'failures') or '0'):sub(1, 1) ~= '0' then
    note_retries(-retried_of(due))
  end
  for k = 1, #due, 2 do
    local place, group, score = due[k]:sub(1, 18), due[k]:sub(19), due[k]:sub(1, 1) .. due[k + 1]
    if not tonumber(score) then
      foreign('a delayed member that is not a message')
    end
    local is_strict = group ~= '' and queue.rules and queue.rules.order == 'strict'
    if group == '' or is_strict and redis.call('ZSCORE', keys[BUSY], group .. TAKEN .. place) then
      plan('ZADD', keys[READY], score, due[k])
    else
      plan('ZADD', keys[ORDER], '0', group .. '\0' .. place)
      touch(group)
    end
    plan('ZREM', keys[DELAYED], due[k])
    queue.comes_sooner = true
  end
  return #due / 2
end

-- plan_unheld(): plans that at most 100 groups whose hold has ended are looked at again.
local function plan_unheld()
  for _, held in ipairs(redis.call('ZRANGE', keys[GROUPS], '0', instant, 'BYSCORE', 'LIMIT', '0', '100')) do
    plan('ZREM', keys[GROUPS], held)
    plan('ZREM', keys[BUSY], held:sub(2) .. HELD)
    touch(held:sub(2))
  end
end
