-- queue_message_receive: hands out messages that are ready: from the first queue first, then by
-- priority, due time and arrival.
-- KEYS  the keys of one queue (queues/lib_queue.lua) or of several, in order of preference
-- ARGV  1 how many at most (1..100), 2 visibility_ms (-1: the queue's), 3 nonce of these deliveries
--       (16 hex digits), 4 '1': each is done at once, as by queue_delivery_acknowledge; its
--       visible_until_ms is then 0, and queue_delivery_return needs its content to bring it back, 5
--       ticket (lib/waiters.lua), '' for a request that does not wait, 6 how long it may still
--       wait, ms; 0: this is its last try, after which it leaves the wait queues; 7 how long it has
--       waited, us; 8 absent or '': queues need not exist, '1': each queue must exist, '2': look
--       only whether the one queue exists, and take nothing; 9 the worker, percent-encoded; absent
--       without one
--@reply -2 paying
--@reply -1 absent: queue int
--@reply 0..: more int, look_at_ms int, deliveries [queue_delivery]...
--@shape queue_delivery: sequence text, content text, stored_state text, visible_until_ms int,
-- queue int
-- The outcome is how many messages were taken. more is 1 when none was taken but the bound on work
-- was reached: call again. look_at_ms is when a ticket that still waits should try again (-1:
-- when it is notified). queue is counted from 0. absent has the first queue that does not exist;
-- nothing is changed then. A paused queue hands out nothing. A waiter takes nothing while others
-- wait before it; these are called.
-- A replay returns the deliveries that are still current, with their present visible_until_ms; with
-- ARGV[4] it returns all of them, as before. What a policy admits is recorded later
-- (queue_delivery_pay). paying: the first request took the messages less than 2 s ago, and may
-- still ask the policy.
-- The script also makes the messages of schedules that came due (50). It makes messages ready that
-- came due (500 per queue; if more came due at once, the next call moves the rest, behind the
-- messages that are ready then). It settles deliveries whose visibility ended (100), drops messages
-- past their ttl (1000), and trims (queues/lib_queue_trim.lua). The bodies of one reply have at
-- most 1 MiB together, unless the first alone is longer.
-- Errors: WRONGTYPE, nothing changed. O(queues + taken * log(queue)), however many messages wait.
-- It runs without memory as well: a full Redis must be able to drain.
-- Where a message is, and what moves it (this script: *):
--
--   sent --later--> DELAYED --due *--+     +------------ redriven ------------ DEAD
--     |                ^             |     |                                    ^
--     +--due now-------|-------------+-----+                                    | too often *
--                      |             |                                          |
--                      |      of a group that is busy --> BLOCKED               |
--                      |             |                     |   ^                |
--                      |             v           head *    |   | group held *   |
--                      |           READY <-----------------+   |                |
--                      |             |  +----------------------+                |
--                      |           taken *                                      |
--                      |             v                                          |
--                      +--------- IN FLIGHT ---- rejected, visibility ended * --+
--                     backoff        |
--                                    +---- acknowledged ----> gone
--
-- Of the due messages of a group one is ready, its head; the others are blocked. The first of these
-- is the next head once the head was taken or, when the group has as many in flight as it may, once
-- one in flight is gone. A head whose group is paused, or has spent its rate, is blocked again, and
-- the group is held until that instant (queues/groups/lib_queue_groups.lua). A cancelled, expired
-- or purged message is gone.
--@include time queue
--@flags allow-oom
--@idempotent proof
if granted then
--@include receive_replay
end

-- There are no functions here, except in branches that few calls take: each of them costs more than
-- most commands, whenever the script runs.
local most, given_visibility_ms, nonce = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local acknowledges, ticket, wait_ms = ARGV[4] == '1', ARGV[5], ARGV[6] + 0
local must_exist, worker = ARGV[8] and ARGV[8] ~= '', ARGV[9] or ''
local first_state = worker == '' and '-1' or '-1\t0\t0\t\t\t\t\t\t' .. worker .. '\t'
local queue_count = #KEYS / 13
local reply = { 0, now, 0, -1 }
local bytes, looked_at, lasts_ms, is_full = 0, 0, 0, false

local queues = {}
for i = 0, queue_count - 1 do
--@include queue_use receive_look
end
for i = 0, queue_count - 1 do
--@include queue_use receive_time
end
for i = 0, queue_count - 1 do
--@include queue_use receive_choose
end
if reply[1] > 0 then
  reply[3] = 0
end
for i = 0, queue_count - 1 do
--@include queue_use receive_write receive_wait
end
for i = 0, queue_count - 1 do -- behind the messages, as a row without a sequence
  if queues[i].policy and queues[i].states[1] then
    reply[#reply + 1] = { '', queues[i].policy[2], queues[i].policy[1], 0, i }
  end
end
return reply, acknowledges and 'done' or 'lent', lasts_ms
