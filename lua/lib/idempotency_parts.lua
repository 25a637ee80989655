-- The build wraps this around every script marked `@idempotent parts`; `body` is that script. It
-- owns the idempotency record and must not know what `body` does. A request makes several calls of
-- such a script. Each call is a part with a name, which a replay uses again. All parts share one
-- idempotency record, and each part is done once. So a replay returns the first response exactly,
-- and a retry of an interrupted request continues where the request stopped.
-- ARGV[last]      the request's fingerprint (64 hex digits), followed by the milliseconds for which
--                 a record is kept; '' without an Idempotency-Key
-- ARGV[last - 1]  the part's name
-- KEYS[last]      with a fingerprint: the record, a hash of `fingerprint` and each part's packed
--                 reply; its time begins with the first part
-- Returns what body returns; for a part that was done before {'replayed', the stored reply with the
-- present now_ms}. A record of another request raises IDEMPOTENCY_KEY_REUSED.
local fingerprint, part = ARGV[#ARGV], ARGV[#ARGV - 1]
ARGV[#ARGV] = nil
ARGV[#ARGV] = nil
if fingerprint == '' then
  return body(KEYS, ARGV)
end
local kept_ms
fingerprint, kept_ms = fingerprint:sub(1, 64), fingerprint:sub(65)
local record = KEYS[#KEYS]
KEYS[#KEYS] = nil
local kept = redis.call('HMGET', record, 'fingerprint', 'part:' .. part)
if kept[1] and kept[1] ~= fingerprint then
  return redis.error_reply('IDEMPOTENCY_KEY_REUSED the record belongs to another request')
end
if kept[2] then
  local reply = cmsgpack.unpack(kept[2])
  local t = redis.call('TIME')
  reply[2] = t[1] * 1000 + math.floor(t[2] / 1000)
  return { 'replayed', reply }
end
local reply = body(KEYS, ARGV)
if not reply.err and reply[1] > 0 then
  redis.call('HSET', record, 'fingerprint', fingerprint, 'part:' .. part, cmsgpack.pack(reply))
  if not kept[1] then
    redis.call('PEXPIRE', record, kept_ms)
  end
end
return reply
