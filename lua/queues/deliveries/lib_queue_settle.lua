-- settle_deliveries(stores_results): ends the deliveries that ARGV names, for queue_delivery_settle
-- and queue_delivery_complete, which has the arguments in its head; with stores_results it stores
-- results. Nothing is written before commit(). Returns the reply.
local function settle_deliveries(stores_results)
  local acknowledged, completed = tonumber(ARGV[1]), tonumber(ARGV[2])
  local first_completed = 3 + 2 * acknowledged
  local first_rejected = first_completed + 3 * completed
  local is_late = (#ARGV - first_rejected) % 5 == 0 and table.remove(ARGV) == 'late'
  local count, fields, at = 0, {}, 3
  while ARGV[at] do
    count = count + 1
    fields[count] = ARGV[at] .. 's'
    if is_late then
      recall(ARGV[at], ARGV[at + 1], at < first_rejected)
    end
    at = at + (at < first_completed and 2 or at < first_rejected and 3 or 5)
  end
  fields[count + 1], fields[count + 2], fields[count + 3] = 'layout', 'rules', 'full'
  local states = known or redis.call('HMGET', keys[QUEUE], unpack(fields))
  local rules_text, frees = states[count + 2], states[count + 3]
  check_layout(states[count + 1])
  local ACKNOWLEDGED, REJECTED, RESULT_KEPT, CANCELLED, REJECTED_LETTERS, NOT_CURRENT = 1, 2, 3, 4, 6, 0
  local result_ms = rules_text and tonumber(rules_text:match('^result_ms=(%d+)'))
  local reply, effects = { 0, now }, 0
  -- The sequence of each delivery that this call has ended, to its nonce. Redis does not have it
  -- yet: nothing is written.
  local ended = {}

  local remembered_until = format('%d', now + math.max(REMEMBERED_MS, result_ms or 0))
  local flight, done, contents, ids = {}, {}, {}, {}
  local results = {} -- key and result

  -- Plans that a delivery is done; `kind` is what became of its result
  -- (queues/deliveries/lib_queue_result.lua).
  local function acknowledge(i, seq, nonce, state, m, kind)
    effects = effects + 1
    ended[seq] = nonce
    contents[effects] = seq
    flight[2 * effects - 1], flight[2 * effects] = '-' .. remembered_until, fields[i] .. (m and m.group or '')
    done[2 * effects - 1], done[2 * effects] = fields[i], nonce .. remembered_until .. 'd'
    if result_ms and result_ms > 0 then
      done[2 * effects] = done[2 * effects] .. kind .. instant .. format('%d', now + result_ms) .. state:sub(30)
    end
    if m then
      m.seq, m.place = seq, keys[FLIGHT]
      unmark(m)
    end
    if m and m.expires_at > 0 then
      plan('ZREM', keys[GROUPS], 't' .. seq)
    end
    if m and has_mark(m, 'a') then
      follow(m)
    elseif m and m.id ~= '' then
      ids[#ids + 1] = m.id
    end
  end

  -- settle_done(i, at, has_result): ends delivery number i, whose sequence is ARGV[at]; its nonce
  -- and its result follow there.
  local function settle_done(i, at, has_result)
    local seq, nonce, state = ARGV[at], ARGV[at + 1], states[i]
    local keeps = has_result and stores_results and (result_ms or 0) > 0
    if ended[seq] then
      return ended[seq] == nonce and ACKNOWLEDGED or NOT_CURRENT
    elseif not state or state:sub(1, 16) ~= nonce or state:sub(17, 29) <= instant then
      return NOT_CURRENT
    elseif state:sub(30, 31) == 'dc' then
      return CANCELLED
    elseif state:sub(30, 30) == 'd' then -- a retry gets what the first call did
      return has_result and state:sub(31, 31) == 'r' and RESULT_KEPT or ACKNOWLEDGED
    end
    local m = state:find('\t', 32, true) and read_state(state)
    if m and not current_delivery(seq, nonce, state) then
      return CANCELLED
    end
    acknowledge(i, seq, nonce, state, m, keeps and 'r' or has_result and 'm' or '-')
    if keeps then
      results[#results + 1], results[#results + 2] = KEYS[13 + (at - first_completed) / 3 + 1], ARGV[at + 2]
    end
    return keeps and RESULT_KEPT or ACKNOWLEDGED
  end
  for i = 1, acknowledged do
    reply[i + 2] = settle_done(i, 1 + 2 * i, false)
  end
  for i = 1, completed do
    reply[#reply + 1] = settle_done(#reply - 1, first_completed + 3 * (i - 1), true)
  end
  for i = first_rejected, #ARGV, 5 do
    local seq, nonce = ARGV[i], ARGV[i + 1]
    local m, is_cancelled
    if not ended[seq] then
      m, is_cancelled = current_delivery(seq, nonce, states[#reply - 1])
    end
    if m then
      give_back(m, tonumber(ARGV[i + 2]), ARGV[i + 3] ~= '' and ARGV[i + 3] or 'rejected', ARGV[i + 4])
      ended[seq] = nonce
      reply[1] = reply[1] + 1
    end
    reply[#reply + 1] = m and REJECTED or is_cancelled and CANCELLED or NOT_CURRENT
  end
  reply[1] = reply[1] + effects

  if effects > 0 and rules_text and rules_text:find(' ', 1, true) then
    check_types()
    read_room()
  end
  if ids[1] then
    check_types()
    setting('dedupe_ms') -- a hash that is not a queue's fails here
  end
  -- If waiters or groups may proceed after these deliveries, the deliveries are a part of the plan.
  local is_planned = effects > 0 and (frees or queue.touched[1])
  if is_planned then
    for i = 1, effects do
      plan('ZADD', keys[FLIGHT], flight[2 * i - 1], flight[2 * i])
      plan('HSET', keys[QUEUE], done[2 * i - 1], done[2 * i])
      plan('HDEL', keys[QUEUE], contents[i])
    end
  end
  commit()
  for i = 3, queue.moves and #reply or 0 do
    reply[i] = reply[i] == REJECTED and REJECTED_LETTERS or reply[i]
  end
  if effects > 0 and not is_planned then
    redis.call('ZADD', keys[FLIGHT], unpack(flight))
    redis.call('HSET', keys[QUEUE], unpack(done))
    redis.call('HDEL', keys[QUEUE], unpack(contents))
  end
  for i = 1, #results, 2 do
    redis.call('SET', results[i], results[i + 1], 'PX', format('%d', result_ms))
  end
  if ids[1] then
    remember_ids(ids, result_ms or 0)
  end
  if effects > 0 then
    serve_senders()
  end
  if effects > 0 and result_ms then
    wake_waiters(contents)
  end
  return reply
end
