import { createHash } from 'node:crypto'

/** A Lua script. Its keys come in KEYS only; its numbers arrive as decimal text and leave as integers. */
export interface Script {
  readonly text: string
  readonly sha: string
}

const script = (text: string): Script => ({ text, sha: createHash('sha1').update(text).digest('hex') })

/** KEYS: counter. ARGV: by, ttl. A counter that lost its time to live would never end, so it gets one. */
export const incrementScript = script(`
local value = redis.call('INCRBY', KEYS[1], ARGV[1])
local ttl = redis.call('PTTL', KEYS[1])
if ttl < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  ttl = tonumber(ARGV[2])
end
return {value, ttl}
`)

/**
 * KEYS: lock, fence. ARGV: owner, lease. The fence is the time in microseconds, or one more than the last one: it keeps
 * growing when Redis comes back empty, and when its clock goes back.
 */
export const acquireScript = script(`
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end
local time = redis.call('TIME')
local fence = tonumber(time[1]) * 1000000 + tonumber(time[2])
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
if fence <= last then fence = last + 1 end
redis.call('SET', KEYS[2], string.format('%.0f', fence), 'PX', 86400000 + ARGV[2])
return fence
`)

/** KEYS: lock. ARGV: owner, lease; without a lease the lock is released. */
export const holdScript = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return redis.call('DEL', KEYS[1])
`)

/** Arguments of one element of `quotaScript` and `jointScript`; see `quotaArguments`. */
export const quotaArity = 6

/** The rules of `quota-rules.ts`; each answers allowed (1 or 0), remaining and milliseconds. */
const quotaRules = `
local call = redis.call
local now

local function window(key, op, limit, span, costText)
  local cost = tonumber(costText)
  local take = op == 'wt' and cost <= limit
  local used
  if take then used = call('INCRBY', key, costText) else used = tonumber(call('GET', key) or '0') + cost end
  local left = call('PTTL', key)
  if left < 0 or left > span then
    left = span
    if op == 'wt' and used > (take and 0 or cost) then call('PEXPIRE', key, span) end
  end
  if used <= limit then return 1, limit - used, left end
  if take then call('DECRBY', key, costText) end
  return 0, math.max(0, limit - (used - cost)), left
end

local function quotient(of, by) return (of - math.fmod(of, by)) / by end
local function quotientUp(of, by)
  if math.fmod(of, by) > 0 then return quotient(of, by) + 1 end
  return quotient(of, by)
end

local function bucket(key, op, limit, span, cost, ticks, tick)
  if not now then
    local time = call('TIME')
    now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  end
  local field = string.format('%.0f:%.0f', limit, span)
  local full = limit * ticks
  local level, at, back = full, now, false
  local held = call('HGET', key, field)
  if held then
    local heldLevel, heldAt = string.match(held, '^(%d+):(%d+)$')
    heldLevel, heldAt = tonumber(heldLevel), tonumber(heldAt)
    if heldAt > now then
      level, back = heldLevel, true
    else
      local elapsed = quotient(now - heldAt, tick)
      if elapsed < ticks and heldLevel + elapsed * limit < full then
        level, at = heldLevel + elapsed * limit, heldAt + elapsed * tick
      end
    end
  end
  local allowed, wait = 1, 0
  if cost > limit then
    allowed, wait = 0, span
  elseif cost * ticks > level then
    allowed, wait = 0, quotientUp(cost * ticks - level, limit) * tick - (now - at)
  else
    level = level - cost * ticks
  end
  if op == 'bt' and (allowed == 1 or back) then
    call('HSET', key, field, string.format('%.0f:%.0f', level, at))
    local ttl = at - now + (quotientUp(full - level, limit) + 1) * tick
    if call('PTTL', key) < ttl then call('PEXPIRE', key, string.format('%.0f', ttl)) end
  end
  return allowed, quotient(level, ticks), wait
end
`

/**
 * KEYS: one per element. ARGV: of each element op, limit, window, cost, ticks, milliseconds of a tick.
 * Answers of each element: allowed (1, 0, or -1 for an error), remaining (or the error), and for a window what is left of
 * it, for a bucket the wait. Each element fails alone.
 */
export const quotaScript = script(`${quotaRules}
local answers = {}
for index = 1, #KEYS do
  local base = (index - 1) * ${quotaArity}
  local op, limit, span, cost = ARGV[base + 1], tonumber(ARGV[base + 2]), tonumber(ARGV[base + 3]), ARGV[base + 4]
  local ok, allowed, remaining, ms
  if op == 'wt' or op == 'wp' then
    ok, allowed, remaining, ms = pcall(window, KEYS[index], op, limit, span, cost)
  else
    ok, allowed, remaining, ms =
      pcall(bucket, KEYS[index], op, limit, span, tonumber(cost), tonumber(ARGV[base + 5]), tonumber(ARGV[base + 6]))
  end
  if ok then
    answers[index * 3 - 2], answers[index * 3 - 1], answers[index * 3] = allowed, remaining, ms
  else
    local reason = type(allowed) == 'table' and allowed.err or allowed
    answers[index * 3 - 2], answers[index * 3 - 1], answers[index * 3] = -1, tostring(reason), 0
  end
end
return answers
`)

/**
 * KEYS and ARGV as of `quotaScript`, every op one that only looks. Takes all, or nothing when one is denied.
 * Answers of each element: allowed, remaining, milliseconds.
 */
export const jointScript = script(`${quotaRules}
local function decide(index, taking)
  local base = (index - 1) * ${quotaArity}
  local op, limit, span, cost = ARGV[base + 1], tonumber(ARGV[base + 2]), tonumber(ARGV[base + 3]), ARGV[base + 4]
  if op == 'wp' then return window(KEYS[index], taking and 'wt' or op, limit, span, cost) end
  return bucket(KEYS[index], taking and 'bt' or op, limit, span, tonumber(cost), tonumber(ARGV[base + 5]), tonumber(ARGV[base + 6]))
end

local answers = {}
local all = true
for index = 1, #KEYS do
  local allowed, remaining, ms = decide(index, false)
  all = all and allowed == 1
  answers[index * 3 - 2], answers[index * 3 - 1], answers[index * 3] = allowed, remaining, ms
end
if all then
  for index = 1, #KEYS do decide(index, true) end
else
  for index = 1, #KEYS do
    if answers[index * 3 - 2] == 1 then
      answers[index * 3 - 1] = answers[index * 3 - 1] + tonumber(ARGV[(index - 1) * ${quotaArity} + 4])
    end
  end
end
return answers
`)
