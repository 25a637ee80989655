-- queue_letters_remove: removes dead letters that another queue has now, if they are still the
-- same dead letters.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 '1': no letter is left, so the next letter may move at once (queue_letters_claim); else
--       '', 2... two per letter: sequence, died_at_ms
--@reply 0..
-- The outcome is how many were removed.
-- Errors: WRONGTYPE, nothing changed. O(letters * log(queue)).
--@flags allow-oom
check_types()
local is_empty, fields, removed = ARGV[1] == '1', {}, 0
for i = 2, #ARGV, 2 do
  fields[#fields + 1] = ARGV[i] .. 's'
end
local states = fields[1] and redis.call('HMGET', keys[QUEUE], unpack(fields)) or {}
for k, state in ipairs(states) do
  local seq, died_at = ARGV[2 * k], ARGV[2 * k + 1]
  local m = state and state:sub(30, 30) ~= 'd' and read_state(state)
  if m and m.nonce == NO_NONCE then
    m.seq, m.place = seq, keys[DEAD]
    m.member = member_of(m)
    local score = redis.call('ZSCORE', keys[DEAD], m.member)
    if score and format('%d', tonumber(score)) == died_at then
      forget(m)
      removed = removed + 1
    end
  end
end
commit()
if is_empty then
  redis.call('HDEL', keys[QUEUE], 'move_at')
end
return { removed, now }
