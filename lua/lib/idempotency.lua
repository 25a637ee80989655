-- Wrapped by the build around every script marked @idempotent; `body` is that script.
-- ARGV[last]  the request's fingerprint (64 hex digits), '' when it carries no Idempotency-Key
-- KEYS[last]  with a fingerprint: the record, a string of fingerprint and packed reply, kept 24 h
-- Returns what body returns. For a request that was answered before: the stored reply with now_ms renewed. An error
-- IDEMPOTENCY_KEY_REUSED when the record belongs to another request.
local fingerprint = ARGV[#ARGV]
ARGV[#ARGV] = nil
if fingerprint == '' then
  return body(KEYS, ARGV)
end
local record = KEYS[#KEYS]
KEYS[#KEYS] = nil
local stored = redis.call('GET', record)
if stored then
  if stored:sub(1, 64) ~= fingerprint then
    return redis.error_reply('IDEMPOTENCY_KEY_REUSED the record belongs to another request')
  end
  local reply = cmsgpack.unpack(stored:sub(65))
  local t = redis.call('TIME')
  reply[2] = t[1] * 1000 + math.floor(t[2] / 1000)
  return reply
end
local reply = body(KEYS, ARGV)
if not reply.err and reply[1] > 0 then
  redis.call('SET', record, fingerprint .. cmsgpack.pack(reply), 'PX', 86400000)
end
return reply
