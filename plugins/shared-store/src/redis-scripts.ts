import { createHash } from 'node:crypto'
import type { QuotaAlgorithm } from './contract.ts'

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

/** Once for each script: all of its decisions are of one moment. */
const readTime = `
if not now then
  local time = call('TIME')
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end`

/**
 * How a quota is decided, as Lua; the rules are those of `quota-rules.ts`. It reads `key`, `take` and the terms of the
 * request (`units` is its cost as text, which Redis takes faster), and sets `remaining`, as -1 - remaining for a denial,
 * and `ms`, of a window what is left of it, of a bucket the wait. It is set into the scripts as text: calling a function for
 * each element costs a tenth of all.
 *
 * The windows of a key are a hash: of each length (`length`, its span as text) what was used, and at `ending` when it ends.
 */
const windowRule = `
${readTime}
local held, left = call('HGET', key, ending), 0
if held then left = tonumber(held) - now end
local taken = take and cost <= limit
local used, ms, remaining
if left > 0 then
  ms = left
  if left > span then
    ms = span
    if take then call('HSET', key, ending, string.format('%.0f', now + span)) end
  end
  if taken then used = call('HINCRBY', key, length, units) else used = tonumber(call('HGET', key, length)) + cost end
else
  ms, used = span, cost
  if taken then
    local ttl = call('PTTL', key)
    if ttl ~= -2 then forget(key, now) end
    call('HSET', key, length, units, ending, string.format('%.0f', now + span))
    if ttl < span then call('PEXPIRE', key, length) end
  end
end
if used <= limit then
  remaining = limit - used
else
  if taken then call('HINCRBY', key, length, '-' .. units) end
  remaining = -1 - math.max(0, limit - (used - cost))
end
`

/** What a rule needs before it. */
const prelude = {
  window: `
local now
-- Windows of the key that are over; without this a key in steady use would keep the remains of all its lengths.
local function forget(key, now)
  local fields = call('HGETALL', key)
  for at = 1, #fields, 2 do
    local length = string.match(fields[at], '^(%d+)e$')
    if length and tonumber(fields[at + 1]) <= now then call('HDEL', key, length, fields[at]) end
  end
end
`,
  bucket: `
local now
local function quotient(of, by) return (of - math.fmod(of, by)) / by end
local function quotientUp(of, by)
  if math.fmod(of, by) > 0 then return quotient(of, by) + 1 end
  return quotient(of, by)
end
`,
} as const

const bucketRule = `
${readTime}
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
local allowed, ms = true, 0
if cost > limit then
  allowed, ms = false, span
elseif cost * ticks > level then
  allowed, ms = false, quotientUp(cost * ticks - level, limit) * tick - (now - at)
else
  level = level - cost * ticks
end
if take and (allowed or back) then
  call('HSET', key, field, string.format('%.0f:%.0f', level, at))
  local ttl = at - now + (quotientUp(full - level, limit) + 1) * tick
  if call('PTTL', key) < ttl then call('PEXPIRE', key, string.format('%.0f', ttl)) end
end
local remaining = quotient(level, ticks)
if not allowed then remaining = -1 - remaining end
`

const ruleOf = { window: windowRule, bucket: bucketRule } as const

/**
 * KEYS: one per element. ARGV: first one byte per element, the number of its terms from 0; then the terms, each as text:
 * take (1 or 0), limit, window, cost, and for a bucket ticks and milliseconds of a tick. Few elements differ in their terms, so these are sent
 * and read once.
 */
const reading = `
local call = redis.call
local answers = {}
local function termsOf(index)
  local text = ARGV[string.byte(ARGV[1], index) + 2]
  local take, limit, length, cost, ticks, tick = string.match(text, '^(%d) (%d+) (%d+) (%d+) ?(%d*) ?(%d*)$')
  return take == '1', tonumber(limit), tonumber(length), tonumber(cost), cost, tonumber(ticks), tonumber(tick), length
end
`

/** Each element is decided alone, and fails alone: then its answer is text. Two answers of each element. */
const oneByOne = (algorithm: QuotaAlgorithm) =>
  script(`${reading}${prelude[algorithm]}
local index = 0
local function run()
  -- Locals, for what lies outside of a function costs more to reach.
  local call, answers, keys, numbers, byte, count = call, answers, KEYS, ARGV[1], string.byte, #KEYS
  local take, limit, span, cost, units, ticks, tick, length, ending, current
  while index < count do
    index = index + 1
    local number = byte(numbers, index)
    if number ~= current then
      take, limit, span, cost, units, ticks, tick, length = termsOf(index)
      current, ending = number, length .. 'e'
    end
    local key = keys[index]
    ${ruleOf[algorithm]}
    answers[2 * index - 1], answers[2 * index] = remaining, ms
  end
end
repeat
  local ran, failure = pcall(run)
  if not ran then
    answers[2 * index - 1], answers[2 * index] = type(failure) == 'table' and failure.err or tostring(failure), 0
  end
until ran
return answers
`)

/** Takes all, or nothing when one is denied; `take` of the terms is not heeded. Two answers of each element. */
const together = (algorithm: QuotaAlgorithm) =>
  script(`${reading}${prelude[algorithm]}
local function decide(index, take)
  local key = KEYS[index]
  local _, limit, span, cost, units, ticks, tick, length = termsOf(index)
  local ending = length .. 'e'
  ${ruleOf[algorithm]}
  return remaining, ms, cost
end
local all = true
local costs = {}
for index = 1, #KEYS do
  local remaining, ms, cost = decide(index, false)
  all = all and remaining >= 0
  answers[2 * index - 1], answers[2 * index], costs[index] = remaining, ms, cost
end
for index = 1, #KEYS do
  if all then
    decide(index, true)
  elseif answers[2 * index - 1] >= 0 then
    answers[2 * index - 1] = answers[2 * index - 1] + costs[index]
  end
end
return answers
`)

/** One element, without the detour. KEYS: one. ARGV: its terms without `take`, for it takes. Two answers. */
const alone = (algorithm: QuotaAlgorithm) =>
  script(`
local call = redis.call
local key, take = KEYS[1], true
local limit, span, cost, units, ticks, tick =
  tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local length, ending = ARGV[2], ARGV[2] .. 'e'
${prelude[algorithm]}${ruleOf[algorithm]}
-- One number where both fit: an array costs twice as much to send and to read.
local step = span + 1
if limit * step > 4503599627370496 then return {remaining, ms} end
if remaining < 0 then return -1 - ((-1 - remaining) * step + ms) end
return remaining * step + ms
`)

const scriptsOf = (algorithm: QuotaAlgorithm) => ({
  alone: alone(algorithm),
  oneByOne: oneByOne(algorithm),
  together: together(algorithm),
})

export const quotaScripts = { window: scriptsOf('window'), bucket: scriptsOf('bucket') } as const
