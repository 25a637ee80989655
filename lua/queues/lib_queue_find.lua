-- Finds a message by the id that clients know. This part must not know what the script does with
-- the message; find() only reads. Needs queues/deliveries/lib_queue_ended.lua.

-- find_sequence(seq, given): the message of a sequence, as find() returns it; with `given`, only if
-- its sender gave that id ('': none).
local function find_sequence(seq, given)
  local stored = redis.call('HMGET', queue_key, seq, seq .. 's')
  if stored[2] and stored[2]:sub(30, 30) == 'd' then
    -- A longer state is one that queues/deliveries/lib_queue_result.lua keeps.
    local is_kept = #stored[2] > 57
    if is_kept and given and read_state(NO_NONCE .. NO_END .. stored[2]:sub(58)).id ~= given then
      is_kept = false
    end
    return nil, is_kept and 'done', stored[2], seq
  elseif not stored[1] then
    return nil
  end
  local header = read_header(stored[1])
  if given and header.id ~= given then
    return nil
  end
  local m = stored[2] and read_state(stored[2]) or header
  m.seq, m.content, m.sent_at, m.id = seq, stored[1], header.sent_at, header.id
  if m.nonce ~= NO_NONCE then
    m.place, m.member, m.at = flight_key, flight_member(m), tonumber(m.ends)
    if m.at > now then
      return m, 'in_flight'
    end
    return m, end_visibility(m)
  end
  m.member = member_of(m)
  for _, place in ipairs({ ready_key, delayed_key, dead_key }) do
    local score = redis.call('ZSCORE', place, m.member)
    if score then
      m.place, m.at = place, place == ready_key and math.floor(score - m.priority * 1e13) or tonumber(score)
      break
    end
  end
  if not m.place and m.group ~= '' and redis.call('ZSCORE', order_key, m.group .. '\0' .. place_of(m)) then
    m.place, m.member, m.at = order_key, m.group .. '\0' .. place_of(m), m.sent_at
    return m, is_expired(m) and 'expired' or 'blocked'
  elseif not m.place then
    return nil
  elseif m.place == dead_key then
    return m, m.at <= now - setting('dead_retention_ms') and 'expired' or 'dead'
  end
  return m, is_expired(m) and 'expired' or 'due'
end

-- find(id): the message with its content, and its state: 'due', 'blocked', 'in_flight' or 'dead';
-- 'expired' if it is past its ttl or its retention, or its visibility ended past its ttl, and it
-- only waits to be dropped. nil without a message. Ids that senders gave come first. For an
-- acknowledged message: nil, 'done', its state and its sequence.
local function find(id)
  local settings = redis.call('HMGET', queue_key, 'layout', 'rules')
  local layout = settings[1] -- another layout is refused, also without a message
  queue_rules = settings[2]
--@include queue_layout
  local seq = redis.call('HGET', ids_key, id)
  local given = seq and id or ''
  seq = seq or id
  if #seq ~= 16 or seq:find('%D') then
    return nil
  end
  return find_sequence(seq, given)
end
