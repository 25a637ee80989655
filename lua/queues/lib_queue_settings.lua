-- The settings of a queue. This module only reads them, and must not know what they do.

-- setting(name): a number; the default below when it was not PUT.
local UNSET = {
  visibility_ms = 30000, max_receives = 25, backoff_base_ms = 1000, backoff_max_ms = 600000, dedupe_ms = 300000,
  dead_retention_ms = 1209600000, paused = 0, expired = 0, sent = 0, died = 0, schedule_at = math.huge,
}
local function know(name, value)
  queue.settings[name] = tonumber(value or UNSET[name]) or foreign('a hash that is not a queue')
end
local function setting(name)
  if not queue.settings[name] then
    know(name, redis.call('HGET', keys[QUEUE], name))
  end
  return queue.settings[name]
end

-- paused_setting(): 0; 1 without an end; otherwise until when the queue is paused.
local function paused_setting()
  local paused = setting('paused')
  return (paused == 1 or paused > now) and paused or 0
end

-- result_ms_of(rules): the setting result_ms in the field `rules`; 0: none. The field keeps a 0 if
-- the queue once had the setting, for the results that are left.
local function result_ms_of(rules)
  return tonumber(rules and rules:match('^result_ms=(%d+)') or 0)
end

-- rules_of(text): the field `rules` as a table.
local function rules_of(text)
  return text and read_rules(text) or {}
end

-- add_settings(reply, rules) adds them in this order.
--@shape queue_settings: visibility_ms int, max_receives int, backoff_base_ms int,
-- backoff_max_ms int, dedupe_ms int, dead_retention_ms int, paused int, result_ms int,
-- max_messages int, policy_name text, policy_key text, is_strict int, group_concurrency int,
-- concurrency int, rate (queue_rate), group_rate (queue_rate), delay_ms int, ttl_ms int,
-- wait_ms int, dead_letter_queue text, dedupe_by_body int, dedupes_in_groups int,
-- max_message_bytes int
--@shape queue_rate: limit int, window_ms int, burst int
-- A backoff_base_ms of 0 means at once; is_strict, dedupe_by_body and dedupes_in_groups are 0 or 1;
-- paused is as paused_setting() has it. Without a policy policy_name is ''; dead_letter_queue is ''
-- without one. For the other settings 0 means none.
local SETTINGS =
  { 'visibility_ms', 'max_receives', 'backoff_base_ms', 'backoff_max_ms', 'dedupe_ms', 'dead_retention_ms', 'paused' }
local function add_settings(reply, rules)
  for _, name in ipairs(SETTINGS) do
    reply[#reply + 1] = name == 'paused' and paused_setting() or setting(name)
  end
  reply[#reply + 1] = result_ms_of(rules)
  local all = rules_of(rules)
  reply[#reply + 1] = all.max_messages or 0
  reply[#reply + 1] = all.policy and all.policy[1] or ''
  reply[#reply + 1] = all.policy and all.policy[2] or ''
  reply[#reply + 1] = all.order == 'strict' and 1 or 0
  reply[#reply + 1] = all.group_concurrency or 0
  reply[#reply + 1] = all.concurrency or 0
  for _, name in ipairs({ 'rate', 'group_rate' }) do
    local rate = all[name] or {}
    for _, part in ipairs({ 'limit', 'window_ms', 'burst' }) do
      reply[#reply + 1] = rate[part] or 0
    end
  end
  reply[#reply + 1] = all.delay_ms or 0
  reply[#reply + 1] = all.ttl_ms or 0
  reply[#reply + 1] = all.wait_ms or 0
  reply[#reply + 1] = all.dead_letter_queue or ''
  reply[#reply + 1] = all.dedupe_by_body or 0
  reply[#reply + 1] = all.dedupe_scope == 'group' and 1 or 0
  reply[#reply + 1] = all.max_message_bytes or 0
end
