-- Finds a message by the id that clients know.

-- find_sequence(seq, given): the message of a sequence, as find() returns it; with `given`, only if
-- its sender gave that id ('': none).
local function find_sequence(seq, given)
  local stored = redis.call('HMGET', keys[QUEUE], seq, seq .. 's')
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
    m.place, m.member, m.at = keys[FLIGHT], flight_member(m), tonumber(m.ends)
    if m.at > now then
      return m, 'in_flight'
    end
    return m, end_visibility(m)
  end
  m.member = member_of(m)
  for _, place in ipairs({ keys[READY], keys[DELAYED], keys[DEAD] }) do
    local score = redis.call('ZSCORE', place, m.member)
    if score then
      m.place, m.at = place, place == keys[READY] and math.floor(score - m.priority * 1e13) or tonumber(score)
      break
    end
  end
  if not m.place and m.group ~= '' and redis.call('ZSCORE', keys[ORDER], m.group .. '\0' .. place_of(m)) then
    m.place, m.member, m.at = keys[ORDER], m.group .. '\0' .. place_of(m), m.sent_at
    return m, is_expired(m) and 'expired' or 'blocked'
  elseif not m.place then
    return nil
  elseif m.place == keys[DEAD] then
    return m, m.at <= now - setting('dead_retention_ms') and 'expired' or 'dead'
  end
  return m, is_expired(m) and 'expired' or 'due'
end

-- find(id): the message with its content, and its state: 'due', 'blocked', 'in_flight' or 'dead';
-- 'expired' if it is past its ttl or its retention, or its visibility ended past its ttl, and it
-- only waits to be dropped. nil without a message. Ids that senders gave come first. For an
-- acknowledged message: nil, 'done', its state and its sequence.
local function find(id)
  local settings = redis.call('HMGET', keys[QUEUE], 'layout', 'rules')
  check_layout(settings[1]) -- also without a message
  queue.rules_text = settings[2]
  local seq = redis.call('HGET', keys[IDS], id)
  local given = seq and id or ''
  seq = seq or id
  if #seq ~= 16 or seq:find('%D') then
    return nil
  end
  return find_sequence(seq, given)
end
