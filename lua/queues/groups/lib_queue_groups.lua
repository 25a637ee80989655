-- Groups: which message of a group may be delivered next.
--
--   KEYS[10]  order, the messages that are blocked: <group> NUL <place>
--   KEYS[11]  busy, the marks of groups:
--               <group> HELD           no message of it is delivered until its instant in `groups`
--               <group> HEAD <place>   its next message, which is in `ready`
--               <group> TAKEN <place>  a message in flight; in a strict queue its head, from when
--                                      it is the head until it is gone: it keeps its group through
--                                      ready, flight and backoff
--   KEYS[12]  groups, by kind and name: h<group> until when it is held, in ms; p<group> until when
--             it is paused, in us; r<group> what its group_rate has stored, and q the queue's rate.
--             An instant in ms is below 10^14, in us above: a range of scores has only groups that
--             are held. An instant that has passed is the same as none. Scores below 0 are of
--             messages with a ttl (queues/lib_queue.lua).
-- A place is the part of a member in `ready` before its group: priority, sequence, 'b' or '-'. A
-- group contains no control character, so all its members are in one range by their bytes.
--
-- These hold after each script:
--   1  A group has at most one head. In a strict queue it has at most one message that is neither
--      blocked nor waiting in `delayed` for its first delivery.
--   2  A group with blocked messages has a head, or as many messages in flight as it may, or is
--      held. So no message is forgotten, and a group without a mark has no blocked messages.
local HELD, HEAD, TAKEN, PAST_MARKS, PAST_PLACES = '\0', '\1', '\2', '\3', '\1'

-- group_limit(): how many messages of a group may be in flight; nil: any number.
local function group_limit()
  if queue.rules and queue.rules.order == 'strict' then
    return 1
  end
  return queue.rules and queue.rules.group_concurrency
end

-- group_held_until(group): until when, in us, no message of a group may be delivered, because it is
-- paused or has spent its rate; nil: one may. The second value is what rate_mended() returns for
-- its rate.
local function group_held_until(group)
  local rate = queue.rules and queue.rules.group_rate
  if not rate and queue.group_paused_until <= now then
    return nil
  end
  local stored = redis.call('ZMSCORE', keys[GROUPS], 'p' .. group, 'r' .. group)
  local until_us = tonumber(stored[1] or 0)
  if rate and rate_room(rate, stored[2]) < 1 then
    until_us = math.max(until_us, rate_opens_at(rate, stored[2]), now_us + 1)
  end
  return until_us > now_us and until_us or nil, rate and rate_mended(rate, stored[2])
end

-- `hold(group, until_us, mended)`: plans that a group is held; a receive looks at it again at that
-- instant.
local function hold(group, until_us, mended)
  plan('ZADD', keys[BUSY], '0', group .. HELD)
  plan('ZADD', keys[GROUPS], format('%d', math.max(math.ceil(until_us / 1000), now + 1)), 'h' .. group)
  if mended then
    plan('ZADD', keys[GROUPS], mended, 'r' .. group)
  end
end

-- may_give_way(group, place): whether a head in `ready` makes room for a message whose place is
-- before its own. A message that was delivered before keeps its group.
local function may_give_way(group, place)
  if not redis.call('ZSCORE', keys[READY], place .. group) then
    return false
  end
  local state = redis.call('HGET', keys[QUEUE], place:sub(2, 17) .. 's')
  return not state or state:sub(32, 32) == '0'
end

-- promote(group, without): plans what makes rule 2 true again: the first blocked message of a group
-- becomes its head, if it may. `without` is a mark that the plan removes. Returns whether a message
-- will be ready.
local function promote(group, without)
  local limit = group_limit()
  local marks =
    redis.call('ZRANGE', keys[BUSY], '[' .. group, '(' .. group .. PAST_MARKS, 'BYLEX', 'LIMIT', '0',
      without and '2' or '1')
  local mark = marks[without and marks[1] == without and 2 or 1]
  local kind = mark and mark:sub(#group + 1, #group + 1)
  if kind == HELD then
    return false
  end
  local first =
    redis.call('ZRANGE', keys[ORDER], '[' .. group .. '\0', '(' .. group .. PAST_PLACES, 'BYLEX', 'LIMIT', '0', '1')[1]
  if not first then
    return false
  end
  local place, held_place = first:sub(#group + 2), mark and mark:sub(#group + 2)
  local is_head = kind == HEAD or kind == TAKEN and queue.rules and queue.rules.order == 'strict'
  if is_head then
    if place > held_place or not (kind == HEAD or may_give_way(group, held_place)) then
      return false
    end
  elseif kind == TAKEN and limit then
    local count = limit == 1 and 1
      or redis.call('ZLEXCOUNT', keys[BUSY], '[' .. group .. TAKEN, '(' .. group .. PAST_MARKS) - (without and 1 or 0)
    if count >= limit then
      return false
    end
  end
  local until_us, mended = group_held_until(group)
  if until_us then
    if not is_head then
      hold(group, until_us, mended)
    end
    return false
  end
  local turn
  if is_head then
    if place:byte() == held_place:byte() then -- the group keeps its turn
      turn = redis.call('ZSCORE', keys[READY], held_place .. group)
    end
    plan('ZREM', keys[READY], held_place .. group)
    plan('ZREM', keys[BUSY], mark)
    plan('ZADD', keys[ORDER], '0', group .. '\0' .. held_place)
  end
  plan('ZREM', keys[ORDER], first)
  plan('ZADD', keys[READY], turn or turn_of(place), place .. group)
  plan('ZADD', keys[BUSY], '0', group .. (queue.rules and queue.rules.order == 'strict' and TAKEN or HEAD) .. place)
  return true
end
