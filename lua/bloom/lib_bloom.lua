-- Bloom filters that grow (Almeida, Baquero, Preguica, Hutchison 2007). A filter has layers of
-- bits. Each layer is for twice the items of the layer before at half its error rate, so that all
-- together keep the promise: e/2 + e/4 + e/8 + ... < e. New items go to the newest layer; an item
-- is there when one layer has all its bits. This module must not know the items, only their hashes.
-- KEYS[1]    a hash: capacity, error_rate, layers (how many), segments (how many are allocated),
--            and for each layer, from layer:1 on, "<bits> <hashes> <capacity> <items> <bits that
--            are set>". While the filter is being deleted it has deleting and segments (how many
--            are left). It expires with the filter
-- KEYS[2..]  the segments: strings of 1 MiB, the last of a layer shorter, numbered through all
--            layers. To allocate one takes half a millisecond; a string of hundreds of MiB would
--            block Redis for as many ms. The first eight expire with the hash, each further eight
--            100 ms later: Redis frees 8 MiB at a time
-- Outcomes that several scripts have:
--   -1 absent     there is no filter
--   -2 more_keys  it has more segments than KEYS names: call again with that many
--   -3 again      a part of the work was done
--@shape bloom_more: segments int
-- The reply of a step about items has a digit for each of the first items. Call again with the
-- items without a digit.
--@shape bloom_step: digits text
local BLOOM_SEGMENT_BITS = 8388608
local BLOOM_MOST_SEGMENTS = 512 -- 2^32 bits
local BLOOM_FREED_AT_ONCE = 8   -- segments
-- For a filter that its first add creates; PUT has the same defaults.
local BLOOM_USUAL_CAPACITY, BLOOM_USUAL_ERROR_RATE = '10000', '0.01'
local BLOOM_LEAST_BITS = 1024   -- with fewer the error rate is random
local BLOOM_MOST_CALLS = 160    -- GETBIT and SETBIT calls in one script: a fifth of a millisecond or two

local function bloom_segments(bits)
  return math.ceil(bits / BLOOM_SEGMENT_BITS)
end

local function bloom_foreign()
  error(redis.error_reply('WRONGTYPE the key or a segment of it is not what a filter has there'))
end

-- bloom_sized: layer `number` of a filter, by the textbook: -n ln p / (ln 2)^2 bits, log2(1/p)
-- hashes.
local function bloom_sized(capacity, error_rate, number)
  local items, rate = capacity * 2 ^ (number - 1), error_rate / 2 ^ number
  local bits = math.ceil(-items * math.log(rate) / math.log(2) ^ 2)
  local hashes = math.floor(-math.log(rate) / math.log(2) + 0.5)
  return { bits = math.max(bits, BLOOM_LEAST_BITS), hashes = hashes, capacity = items, items = 0, set = 0 }
end

-- Adds a layer to a filter in memory; `first` is the index in KEYS of its first segment.
local function bloom_append(filter, layer)
  layer.first = filter.keys + 1
  filter.keys = filter.keys + bloom_segments(layer.bits)
  filter[#filter + 1] = layer
end

-- bloom_read(): the filter, with its layers from [1] on and `keys`, the number of KEYS it needs.
-- Without a filter nil, and how many segments are left of one that is being deleted.
local function bloom_read()
  local head = redis.call('HMGET', KEYS[1], 'capacity', 'error_rate', 'layers', 'segments', 'deleting')
  local layers, segments = tonumber(head[3] or ''), tonumber(head[4] or '')
  if head[5] and segments then
    return nil, segments
  elseif not head[1] and redis.call('EXISTS', KEYS[1]) == 0 then
    return nil
  elseif not (head[1] and head[2] and segments and layers and layers >= 1 and layers <= BLOOM_MOST_SEGMENTS) then
    bloom_foreign()
  end
  local filter = { capacity = head[1], error_rate = head[2], segments = segments, keys = 1 }
  local names = {}
  for number = 1, layers do
    names[number] = 'layer:' .. format('%d', number)
  end
  for _, row in ipairs(redis.call('HMGET', KEYS[1], unpack(names))) do
    local bits, hashes, capacity, items, set = string.match(row or '', '^([1-9]%d*) (%d+) (%d+) (%d+) (%d+)$')
    if not bits then
      bloom_foreign()
    end
    bloom_append(filter, { bits = tonumber(bits), hashes = tonumber(hashes), capacity = tonumber(capacity),
      items = tonumber(items), set = tonumber(set) })
  end
  if filter.keys - 1 > BLOOM_MOST_SEGMENTS then
    bloom_foreign()
  end
  return filter
end

-- Writes the newest layer.
local function bloom_save(filter)
  local l = filter[#filter]
  redis.call('HSET', KEYS[1], 'layers', format('%d', #filter), 'layer:' .. format('%d', #filter),
    format('%.0f %.0f %.0f %.0f %.0f', l.bits, l.hashes, l.capacity, l.items, l.set))
end

-- Adds and writes a layer for more items. Returns false when the filter would be larger than 2^32
-- bits.
local function bloom_grow(filter)
  local layer = bloom_sized(tonumber(filter.capacity), tonumber(filter.error_rate), #filter + 1)
  if filter.keys - 1 + bloom_segments(layer.bits) > BLOOM_MOST_SEGMENTS then
    return false
  end
  bloom_append(filter, layer)
  bloom_save(filter)
  return true
end

-- Makes a filter without segments. The caller adds its name to the index of names.
local function bloom_create(capacity, error_rate)
  local filter = { capacity = capacity, error_rate = error_rate, segments = 0, keys = 1 }
  redis.call('HSET', KEYS[1], 'capacity', capacity, 'error_rate', error_rate, 'segments', '0')
  bloom_grow(filter)
  return filter
end

-- The number of bytes of the segment KEYS[key] of a layer.
local function bloom_bytes(layer, key)
  return math.ceil(math.min(layer.bits - (key - layer.first) * BLOOM_SEGMENT_BITS, BLOOM_SEGMENT_BITS) / 8)
end

-- Makes sure that the segments of all layers with items exist and have their size: without one of
-- them the filter would forget items. After this nothing fails half-way.
local function bloom_check(filter)
  for _, layer in ipairs(filter) do
    for key = layer.first, layer.first + bloom_segments(layer.bits) - 1 do
      local is_made = layer.items > 0 or key <= filter.segments + 1
      if is_made and redis.call('STRLEN', KEYS[key]) ~= bloom_bytes(layer, key) then
        bloom_foreign()
      end
    end
  end
end

-- Asks Redis about an item's bits in a layer: GETBIT until one is 0, or SETBIT of all. Returns how
-- many were 0, and the number of calls.
-- `hash` is 16 bytes, read as three numbers that Lua holds exactly. For large layers two of them
-- would suffice, with the i-th bit at h1 + i * h2 (Kirsch and Mitzenmacher 2006). But a small layer
-- has so few pairs (h1, h2) that items have all their bits in common far more often than low error
-- rates allow. So the sum has more terms: + C(i,2) h3 + ... + C(i,5) h6, where h4 to h6 are the
-- quotients of the three numbers by the layer's bits. The positions are as good as independent
-- ones, and are computed by additions from bit to bit.
local function bloom_bits(layer, hash, is_adding)
  local bits, call, format, floor = layer.bits, redis.call, string.format, math.floor
  local a, b, c = struct.unpack('>I5I5I6', hash)
  local h1, h2, h3 = a % bits, b % bits, c % bits
  local h4, h5, h6 = floor(c / bits) % bits, floor(b / bits) % bits, floor(a / bits) % bits
  local zeros = 0
  for i = 1, layer.hashes do
    local segment = floor(h1 / BLOOM_SEGMENT_BITS)
    local key, offset = KEYS[layer.first + segment], format('%d', h1 - segment * BLOOM_SEGMENT_BITS)
    if is_adding then
      zeros = zeros + 1 - call('SETBIT', key, offset, '1')
    elseif call('GETBIT', key, offset) == 0 then
      return 1, i
    end
    h1, h2, h3, h4, h5 = (h1 + h2) % bits, (h2 + h3) % bits, (h3 + h4) % bits, (h4 + h5) % bits, (h5 + h6) % bits
  end
  return zeros, layer.hashes
end

-- Whether one of the layers up to `newest` has an item, and the number of calls.
local function bloom_has(filter, newest, hash)
  local calls = 0
  for number = newest, 1, -1 do
    if filter[number].items > 0 then
      local zeros, more = bloom_bits(filter[number], hash, false)
      calls = calls + more
      if zeros == 0 then
        return true, calls
      end
    end
  end
  return false, calls
end

-- Sets the expiry of the segment KEYS[key], when the filter expires at `at`.
local function bloom_expire_segment(key, at)
  expire({ KEYS[key] }, at and at + math.floor((key - 2) / BLOOM_FREED_AT_ONCE) * 100)
end

-- Sets the expiry of a filter to a request's `ttl` (lua/lib/expiry.lua), and returns it. All
-- segments must be among KEYS.
local function bloom_expire(filter, now, ttl)
  local at = expiry_after(ttl, now, expiry_at({ KEYS[1] }))
  if ttl ~= '' then
    bloom_check(filter)
    expire({ KEYS[1] }, at)
    for key = 2, filter.segments + 1 do
      bloom_expire_segment(key, at)
    end
  end
  return at
end

-- The reply of a filter; expires_at_ms is -1 for never. set_bits is how many bits of a layer are
-- set.
--@shape bloom_filter: capacity int, error_rate real, expires_at_ms int, layers (bloom_layer)...
--@shape bloom_layer: bits int, hashes int, capacity int, size int, set_bits int
local function bloom_reply(outcome, now, filter, at)
  local reply = { outcome, now, tonumber(filter.capacity), filter.error_rate, expiry_reply(at) }
  for _, layer in ipairs(filter) do
    for _, name in ipairs({ 'bits', 'hashes', 'capacity', 'items', 'set' }) do
      reply[#reply + 1] = layer[name]
    end
  end
  return reply
end

-- Frees some of the `left` segments, the last ones first. Returns true when it has freed all of
-- them and the filter is gone.
local function bloom_free(left)
  local from = math.max(left - BLOOM_FREED_AT_ONCE, 0)
  for key = from + 2, left + 1 do
    redis.call('UNLINK', KEYS[key])
  end
  if from > 0 then
    redis.call('HSET', KEYS[1], 'deleting', '1', 'segments', format('%d', from))
    return false
  end
  redis.call('UNLINK', KEYS[1])
  return true
end
