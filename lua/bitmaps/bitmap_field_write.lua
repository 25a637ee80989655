-- bitmap_field_write: gets, sets and adds to integers of 1 to 64 bits, all in one BITFIELD. Lua's
-- numbers are exact to 2^53 only. So no value becomes one: what is set or added goes in as text,
-- and the reply is read as two fields, the lower 32 bits and those above. The value is upper *
-- 2^32 + lower, which the caller puts together.
-- KEYS[1]  the bitmap: string; its TTL, if it has one, stays
-- ARGV     six for each operation, at most 256: 'GET', 'SET' or 'INCRBY'; 'u' or 'i'; bits; offset
--          of the first bit; value, '' for GET; 'WRAP', 'SAT' or 'FAIL'
--@reply 1 written, 0: fields (bitmap_field)...
--@shape bitmap_field: is_refused int, upper int, lower int
-- There is a field for each operation: the value it got, the one before it set, or the one after it
-- added; is_refused where FAIL refused. written: something was, if only a longer bitmap.
-- Errors: WRONGTYPE, nothing done. O(N), about 4 us each, and 0.5 ms for each MiB that the bitmap
-- grows: the caller bounds the offsets.
--@include time
--@idempotent
local now = now_ms()
local ask, n, answers = {'BITFIELD', KEYS[1]}, 2, 0

-- Adds GET; returns which answer will be its own.
local function get(kind, offset)
  ask[n + 1], ask[n + 2], ask[n + 3] = 'GET', kind, offset
  n, answers = n + 3, answers + 1
  return answers
end

-- Adds SET or INCRBY; returns which answer will be its own.
local function write(op, kind, offset, value, overflow)
  ask[n + 1], ask[n + 2], ask[n + 3], ask[n + 4], ask[n + 5], ask[n + 6] = 'OVERFLOW', overflow, op, kind, offset, value
  n, answers = n + 6, answers + 1
  return answers
end

local written, upper, lower = {}, {}, {} -- which answers are an operation's; 0: none is
for i = 1, #ARGV / 6 do
  local op, sign, bits, offset, value, overflow = unpack(ARGV, i * 6 - 5, i * 6)
  local kind, upper_bits = sign .. bits, bits - 32
  written[i] = op == 'INCRBY' and write(op, kind, offset, value, overflow) or 0
  if upper_bits > 0 then
    upper[i] = get(sign .. digits(upper_bits), offset)
    lower[i] = get('u32', digits(offset + upper_bits))
  else
    upper[i], lower[i] = 0, get(kind, offset)
  end
  written[i] = op == 'SET' and write(op, kind, offset, value, overflow) or written[i]
end

local bytes = redis.call('STRLEN', KEYS[1])
local found = redis.call(unpack(ask))
local outcome = redis.call('STRLEN', KEYS[1]) ~= bytes and 1 or 0
local reply = {0, now}
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
