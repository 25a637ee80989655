-- Reads the idempotency record of a request, before its operation runs. It must not know what the
-- operation does.
-- ARGV[last]  with an Idempotency-Key: the operation, the request's fingerprint (64 hex digits),
--             and for how many milliseconds a record is kept at most
-- KEYS[last]  then: the record, a string of fingerprint and packed reply. It is removed
-- A request may make several calls of an operation (`--@idempotent parts`). Each has, with a record
-- or without, the name of its part before the operation. All parts share one record, a hash of
-- `fingerprint` and each part's packed reply, and each part is done once. So a replay returns the
-- first response exactly, and a retry of an interrupted request continues where it stopped.
-- Returns for a replay {'replayed', the stored reply with the present now_ms}. A record of another
-- request raises IDEMPOTENCY_KEY_REUSED.
-- An operation that grants something for a time runs again for a replay, with `granted` (the stored
-- reply) and the `proof` of the grant. It then changes nothing.
local fingerprint, most_ms, record, part, is_first_part, granted, proof
if #operation > 64 then
  operation, fingerprint, most_ms = operation:match('^(%S+) (%x+) (%d+)$')
  record, KEYS[#KEYS] = KEYS[#KEYS], nil
end
if HAS_PARTS then -- the build puts the names of such operations here
  part, ARGV[#ARGV] = ARGV[#ARGV], nil
end
if record then
  local kept, stored
  if part then
    kept, stored = unpack(redis.call('HMGET', record, 'fingerprint', 'part:' .. part))
    is_first_part = not kept
  else
    stored = redis.call('GET', record)
    kept, stored = stored and stored:sub(1, 64), stored and stored:sub(65)
  end
  if kept and kept ~= fingerprint then
    return redis.error_reply('IDEMPOTENCY_KEY_REUSED the record belongs to another request')
  elseif stored then
    granted, proof = cmsgpack.unpack(stored)
    if proof == nil then
      granted[2] = now
      return { 'replayed', granted }
    end
  end
end
