-- One message by its public id. Wants queues/lib_queue.lua.

-- Returns the message and its state: 'due', 'in_flight' or 'dead'; 'expired' for one that is past
-- its ttl or its retention, or whose visibility ended past its ttl, and that only waits to be
-- dropped; or nil. Ids that senders gave come first.
local function find(queue, id)
  local seq = read('HGET', ids_key, id)
  local given = seq and id or ''
  seq = seq or id
  local text = seq:match('^%d+$') and #seq == 16 and read('HGET', meta_key, seq)
  local m = text and parse_record(seq, text)
  if not m or m.id ~= given then
    return nil
  end
  if m.nonce ~= '' then
    m.place = flight_key
    m.at = tonumber(read('ZSCORE', flight_key, seq))
    if not m.at then
      return nil
    end
    if m.at > now then
      return m, 'in_flight'
    end
    return m, end_visibility(queue, m)
  end
  m.place = due_key(m.priority)
  m.at = tonumber(read('ZSCORE', m.place, seq))
  if m.at then
    return m, is_expired(m) and 'expired' or 'due'
  end
  m.place = dead_key
  m.at = tonumber(read('ZSCORE', dead_key, seq))
  if m.at then
    return m, m.at <= now - setting(queue, 'retention_ms') and 'expired' or 'dead'
  end
  return nil
end
