-- The delivery that a receipt names. Wants lib/queue.lua.

-- Returns its message when the delivery is current: not acknowledged, not returned, not delivered again, and still
-- visible to nobody else. Otherwise nil, and whether the message is gone altogether.
local function current_delivery(seq, nonce)
  local text = read('HGET', meta_key, seq)
  if not text then
    return nil, true
  end
  local m = parse_record(seq, text)
  m.place = flight_key
  m.at = tonumber(read('ZSCORE', flight_key, seq))
  if m.nonce ~= nonce or not m.at or m.at <= now then
    return nil, false
  end
  return m
end
