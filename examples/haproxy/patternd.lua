-- http-request lua.ratelimit <patternd's URL> <policy>: takes 1 from the policy's limit of the
-- client's address.
--
-- Sets txn.ratelimit_status (200, 429; not set when patternd gave no answer), txn.ratelimit,
-- txn.ratelimit_policy and txn.ratelimit_retry_after. Needs HAProxy 2.5 for core.httpclient; the
-- request waits in its Lua task, not in a thread.
local TIMEOUT_MS = 1000

local function first(headers, name)
  return headers and headers[name] and headers[name][0]
end

core.register_action('ratelimit', { 'http-req' }, function(txn, url, policy)
  local answer = core.httpclient():get({
    url = url .. '/ratelimit/authorize?policy=' .. policy .. '&key=' .. txn.sf:src(),
    timeout = TIMEOUT_MS,
    -- Where patternd asks for a token, one with the scope policies:web:authorize.
    --headers = { authorization = { 'Bearer TOKEN' } },
  })
  if not answer or not answer.status or answer.status == 0 then
    return
  end
  txn:set_var('txn.ratelimit_status', answer.status)
  txn:set_var('txn.ratelimit', first(answer.headers, 'ratelimit') or '')
  txn:set_var('txn.ratelimit_policy', first(answer.headers, 'ratelimit-policy') or '')
  txn:set_var('txn.ratelimit_retry_after', first(answer.headers, 'retry-after') or '')
end, 2)
