-- The build wraps this around every script marked `@idempotent`; `body` is that script. It owns the
-- idempotency record and must not know what `body` does.
-- ARGV[last]  the request's fingerprint (64 hex digits), followed by the milliseconds for which a
--             record is kept at most; '' without an Idempotency-Key
-- KEYS[last]  with a fingerprint: the idempotency record, a string of fingerprint and packed reply
-- Returns what body returns; for a replay {'replayed', the stored reply with the present now_ms}. A
-- record of another request raises IDEMPOTENCY_KEY_REUSED.
-- A script that grants something for a time returns two more values: a proof of the grant, and for
-- how many ms it lasts. A replay runs the script again, with the stored reply and the proof. The
-- script then changes nothing. It returns the reply as it is true now, or nothing when the grant
-- has ended, for which the replay is {'ended', now_ms}. The record is kept for the time of the
-- grant, and at least a minute, so that a late retry learns that the grant has ended. An extension
-- of the grant does not extend the record.
-- If the proof is nil, the third value is the number of ms for which a decision holds, and the
-- record is kept for that time.
local fingerprint = ARGV[#ARGV]
ARGV[#ARGV] = nil
if fingerprint == '' then
  return body(KEYS, ARGV)
end
local most_ms
fingerprint, most_ms = fingerprint:sub(1, 64), tonumber(fingerprint:sub(65))
local record = KEYS[#KEYS]
KEYS[#KEYS] = nil
local stored = redis.call('GET', record)
if stored then
  if stored:sub(1, 64) ~= fingerprint then
    return redis.error_reply('IDEMPOTENCY_KEY_REUSED the record belongs to another request')
  end
  local reply, proof = cmsgpack.unpack(stored:sub(65))
  if proof then
    reply = body(KEYS, ARGV, reply, proof)
  end
  local t = redis.call('TIME')
  local now = t[1] * 1000 + math.floor(t[2] / 1000)
  if not reply then
    return { 'ended', now }
  end
  reply[2] = now
  return { 'replayed', reply }
end
local reply, proof, lasts_ms = body(KEYS, ARGV)
if not reply.err and reply[1] > 0 then
  if lasts_ms and proof ~= nil then
    lasts_ms = math.max(lasts_ms, 60000)
  end
  -- A key still exists in the millisecond in which it expires.
  local kept_ms = math.min(lasts_ms or most_ms, most_ms) - 1
  if kept_ms > 0 then
    redis.call('SET', record, fingerprint .. cmsgpack.pack(reply, proof), 'PX', string.format('%d', kept_ms))
  end
end
return reply
