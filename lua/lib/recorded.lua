-- Keeps the reply of an operation in the idempotency record of its request (lib/record.lua), and
-- returns it. An operation that grants something for a time returns two more values: a proof of the
-- grant, and for how many ms it lasts. The replay of such a grant is its reply as it is true now,
-- or {'ended', now_ms}, if the operation returned nothing. The record is kept for the time of the
-- grant, and at least a minute, so that a late retry learns that the grant has ended. An extension
-- of the grant does not extend the record.
-- If the proof is nil, the third value is the number of ms for which a decision holds, and the
-- record is kept for that time.
if granted then
  if not reply then
    return { 'ended', now }
  end
  reply[2] = now
  return { 'replayed', reply }
elseif record and not reply.err and reply[1] > 0 then
  most_ms = tonumber(most_ms)
  if part then
    redis.call('HSET', record, 'fingerprint', fingerprint, 'part:' .. part, cmsgpack.pack(reply))
    if is_first_part then
      redis.call('PEXPIRE', record, format('%d', most_ms))
    end
    return reply
  end
  if lasts_ms and proves ~= nil then
    lasts_ms = math.max(lasts_ms, 60000)
  end
  -- A key still exists in the millisecond in which it expires.
  local kept_ms = math.min(lasts_ms or most_ms, most_ms) - 1
  if kept_ms > 0 then
    redis.call('SET', record, fingerprint .. cmsgpack.pack(reply, proves), 'PX', format('%d', kept_ms))
  end
end
return reply
