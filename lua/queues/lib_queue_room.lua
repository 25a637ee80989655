-- The senders that wait for room, for scripts that may make room. This part must not know what
-- makes room. Needs queues/lib_queue_types.lua: `rules` must be known. The wait queue is KEYS[13],
-- which is its channel.
local room_read -- nil: its wait queue was not read; false: no sender waits there, or there is no rule

-- read_room(): reads the wait queue. Call it before the first write of a script that may make room.
local function read_room()
  if room_read == nil and rules and rules.max_messages and redis.call('ZCARD', room_key) > 0 then
--@include waiters queue_room_serve
    local w = waiters_read(room_key, room_key, now, '')
    room_read = function()
      waiters_settle(w)
      serve_room(w)
    end
  end
  room_read = room_read or false
end

-- serve_senders(): calls the senders for which there is room now.
local function serve_senders()
  if room_read then
    room_read()
  end
end
