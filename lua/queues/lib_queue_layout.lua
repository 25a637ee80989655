-- Refuses a queue of another layout: `layout` is that field of its hash, nil without a queue. Needs
-- queues/lib_queue.lua.
layout = layout or '1'
layout = layout == '1'
  or error(redis.error_reply('WRONGTYPE ' .. queue_key .. ' has layout ' .. layout .. '; this daemon knows layout 1'))
