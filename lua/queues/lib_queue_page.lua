-- Messages of a page of a sorted set. Wants queues/lib_queue_message.lua.

-- The messages of a ZRANGE ... WITHSCORES of `place`, in its order, by their states. One that has
-- none has only what its member contains.
local function messages_of(place, flat)
  local list, fields = {}, {}
  for i = 1, #flat, 2 do
    local member = flat[i]
    local seq = place == flight_key and member:sub(1, 16) or member:sub(2, 17)
    if #seq ~= 16 or not tonumber(member:sub(1, 16)) then
      foreign('a member that is not a message')
    end
    fields[#fields + 1] = seq .. 's'
    list[#list + 1] = { seq = seq, member = member, score = tonumber(flat[i + 1]) }
  end
  if not fields[1] then
    return list
  end
  for i, state in ipairs(redis.call('HMGET', queue_key, unpack(fields))) do
    local found = list[i]
    local m = state and read_state(state)
      or { size = place ~= flight_key and found.member:sub(18, 18) == 'b' and 'b' or '-',
           priority = found.member:sub(1, 1), group = found.member:sub(place == flight_key and 18 or 19) }
    m.lost = state and m.marks:find('c', 1, true) ~= nil
    m.seq, m.member, m.place, m.has_state = found.seq, found.member, place, state and true
    m.at = place == ready_key and found.score - tonumber(m.priority) * 1e13 or found.score
    list[i] = m
  end
  return list
end

-- Takes the content, and where there is no state its header, into m.
local function add_content(m, content)
  if not content then
    m.lost = true
    return
  end
  m.content = content
  local header = read_header(content)
  if m.has_state then
    m.sent_at = header.sent_at
    return
  end
  local seq, member, place, at = m.seq, m.member, m.place, m.at
  for name, value in pairs(header) do
    m[name] = value
  end
  m.seq, m.member, m.place, m.at, m.priority = seq, member, place, at, member:sub(1, 1)
end

-- add_contents(list, from): of a row of small messages, or of one large one. Returns the index
-- behind it: what is read at once stays within 800 KiB, or is one message.
local function add_contents(list, from)
  local seqs, i = {}, from
  repeat
    seqs[#seqs + 1] = list[i].seq
    i = i + 1
  until not list[i] or list[i].size == 'b' or list[from].size == 'b' or #seqs == 100
  for k, content in ipairs(redis.call('HMGET', queue_key, unpack(seqs))) do
    add_content(list[from + k - 1], content)
  end
  return i
end
