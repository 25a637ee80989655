-- The senders that wait for room, for scripts after which there may be more. Wants
-- queues/lib_queue_types.lua: `rules` are known. The wait queue is KEYS[13], which is its channel.
local room_read -- nil: its wait queue was not read; false: nothing waits there, or there is no rule

-- read_room(): before the first write of a script after which there may be more room.
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

-- After there may be more room.
local function serve_senders()
  if room_read then
    room_read()
  end
end
