-- bitmap_field_write: gets, sets and adds to integers of 1 to 64 bits, all in one BITFIELD. Lua's
-- numbers are exact only up to 2^53, so no value becomes a number: what is set or added is passed
-- as text, and the reply has each value in two parts, the lower 32 bits and the bits above. The
-- caller computes upper * 2^32 + lower.
-- KEYS[1]  the bitmap: string; its TTL, if it has one, stays
-- ARGV     six per operation, at most 256: 'GET', 'SET' or 'INCRBY'; 'u' or 'i'; bits; offset
--          of the first bit; value, '' for GET; 'WRAP', 'SAT' or 'FAIL'
--@reply 1 written, 0: fields (bitmap_field)...
--@shape bitmap_field: is_refused int, upper int, lower int
-- There is a field for each operation: the value that GET read, the value before SET, or the value
-- after INCRBY; is_refused is 1 if FAIL refused. written: a value was written, or the bitmap became
-- longer.
-- Errors: WRONGTYPE, nothing done. O(N), about 4 us each, and 0.5 ms per MiB that the bitmap grows:
-- the caller bounds the offsets.
--@idempotent
local ask, n, answers = { 'BITFIELD', KEYS[1] }, 2, 0

-- get(kind, offset): adds a GET; returns the index of its answer.
local function get(kind, offset)
  ask[n + 1], ask[n + 2], ask[n + 3] = 'GET', kind, offset
  n, answers = n + 3, answers + 1
  return answers
end

-- write(...): adds a SET or INCRBY; returns the index of its answer.
local function write(op, kind, offset, value, overflow)
  ask[n + 1], ask[n + 2], ask[n + 3], ask[n + 4], ask[n + 5], ask[n + 6] = 'OVERFLOW', overflow, op, kind, offset, value
  n, answers = n + 6, answers + 1
  return answers
end

local written, upper, lower = {}, {}, {} -- the indexes of each operation's answers; 0: none
for i = 1, #ARGV / 6 do
  local op, sign, bits, offset, value, overflow = unpack(ARGV, i * 6 - 5, i * 6)
  local kind, upper_bits = sign .. bits, bits - 32
  written[i] = op == 'INCRBY' and write(op, kind, offset, value, overflow) or 0
  if upper_bits > 0 then
    upper[i] = get(sign .. format('%d', upper_bits), offset)
    lower[i] = get('u32', format('%d', offset + upper_bits))
  else
    upper[i], lower[i] = 0, get(kind, offset)
  end
  written[i] = op == 'SET' and write(op, kind, offset, value, overflow) or written[i]
end

local bytes = redis.call('STRLEN', KEYS[1])
local found = redis.call(unpack(ask))
local outcome = redis.call('STRLEN', KEYS[1]) ~= bytes and 1 or 0
local reply = { 0, now }
for i = 1, #lower do
  if found[written[i]] == false then
    reply[3 * i], reply[3 * i + 1], reply[3 * i + 2] = 1, 0, 0
  else
    reply[3 * i], reply[3 * i + 1], reply[3 * i + 2] = 0, found[upper[i]] or 0, found[lower[i]]
    outcome = written[i] > 0 and 1 or outcome
  end
end
reply[1] = outcome
return reply
