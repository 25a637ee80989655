-- The messages of a page of a sorted set. This module only reads, and must not know what the script
-- does with the messages.

-- read_member(place, member): what a member of `place` contains. Of a message without a state,
-- nothing else is known until its content is read.
local function read_member(place, member)
  local group = ''
  if place == keys[ORDER] then
    group, member = member:match('^(%Z*)%z(.*)$')
  elseif place == keys[FLIGHT] then
    member, group = '-' .. member:sub(1, 16), member:sub(18)
  else
    group = member:sub(19)
  end
  local seq = member and member:sub(2, 17) or ''
  if #seq ~= 16 or seq:find('%D') then
    foreign('a member that is not a message')
  end
  return { seq = seq, priority = member:sub(1, 1), size = member:sub(18, 18) == 'b' and 'b' or '-', group = group }
end

-- messages_of(place, flat): the messages of a ZRANGE ... WITHSCORES of `place`, in its order, by
-- their states.
local function messages_of(place, flat)
  local list, fields = {}, {}
  for i = 1, #flat, 2 do
    local m = read_member(place, flat[i])
    fields[#fields + 1] = m.seq .. 's'
    list[#list + 1] = m
  end
  if not fields[1] then
    return list
  end
  for i, state in ipairs(redis.call('HMGET', keys[QUEUE], unpack(fields))) do
    local m, score = state and read_state(state) or list[i], tonumber(flat[2 * i])
    m.lost = state and m.marks:find('c', 1, true) ~= nil
    m.seq, m.member, m.place, m.has_state = list[i].seq, flat[2 * i - 1], place, state and true
    m.at = place == keys[READY] and math.floor(score - m.priority * 1e13) or score
    list[i] = m
  end
  return list
end

-- add_content(m, content): adds the content, and its header if there is no state, to m.
local function add_content(m, content)
  if not content then
    m.lost = true
    return
  end
  m.content = content
  local header = read_header(content)
  if m.place == keys[ORDER] then
    m.at = header.sent_at
  end
  if m.has_state then
    m.sent_at = header.sent_at
    return
  end
  local seq, member, place, at, priority = m.seq, m.member, m.place, m.at, m.priority
  for name, value in pairs(header) do
    m[name] = value
  end
  m.seq, m.member, m.place, m.at, m.priority = seq, member, place, at, priority
end

-- add_contents(list, from): reads the contents of a row of small messages, or of one large message.
-- Returns the index after it. So one read has at most 800 KiB, or one message.
local function add_contents(list, from)
  local seqs, i = {}, from
  repeat
    seqs[#seqs + 1] = list[i].seq
    i = i + 1
  until not list[i] or list[i].size == 'b' or list[from].size == 'b' or #seqs == 100
  for k, content in ipairs(redis.call('HMGET', keys[QUEUE], unpack(seqs))) do
    add_content(list[from + k - 1], content)
  end
  return i
end
