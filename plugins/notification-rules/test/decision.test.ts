/** Tests the function that decides whether an alert is sent, with examples and properties. */
import { alertStateAfter, decideAlert, type NotificationRule, type RuleEvent } from '@plinth/notification-rules'
import fc from 'fast-check'
import t from 'tap'

const minute = 60_000
const noEscalation = { enabled: false, channels: [], recipientUserIds: [] }
const rule = (members: Partial<NotificationRule> = {}): NotificationRule => ({
  code: 'open-platform.balance-low',
  enabled: true,
  thresholdCount: 1,
  channels: ['database'],
  recipientUserIds: [7, 8],
  escalation: noEscalation,
  ...members,
})
const at = (occurredAt: number, members: Partial<RuleEvent> = {}): RuleEvent => ({
  code: 'open-platform.balance-low',
  dedupeKey: 'app:1',
  occurredAt,
  count: 1,
  ...members,
})
const outcome = (...parts: Parameters<typeof decideAlert>) => decideAlert(...parts).outcome

t.test('N-080 a decision contains whether, through which channels, to whom and with which key', async (t) => {
  t.same(decideAlert(rule(), at(0), {}), {
    shouldSend: true,
    outcome: 'sent',
    channels: ['database'],
    recipientUserIds: [7, 8],
    dedupeKey: 'app:1',
  })
  t.same(decideAlert(rule({ enabled: false }), at(0), {}), {
    shouldSend: false,
    outcome: 'disabled',
    channels: [],
    recipientUserIds: [],
    dedupeKey: 'app:1',
  })
})

t.test('N-082 N-081 a disabled rule, or a rule without recipients, sends nothing', async (t) => {
  t.equal(outcome(rule({ enabled: false }), at(0), {}), 'disabled')
  t.equal(outcome(rule({ recipientUserIds: [] }), at(0), {}), 'no-recipients')
  const escalation = { enabled: true, afterMs: 1, channels: [], recipientUserIds: [9] }
  t.equal(outcome(rule({ recipientUserIds: [], escalation }), at(minute), { lastSentAt: 0 }), 'no-recipients')
})

t.test('N-075 below the threshold nothing is sent, at the threshold the message is sent', async (t) => {
  const three = rule({ thresholdCount: 3 })
  t.same(
    [1, 2, 3, 4].map((count) => outcome(three, at(0, { count }), {})),
    ['below-threshold', 'below-threshold', 'sent', 'sent'],
  )
})

t.test('N-076 B37 a count over a longer or an unknown time is not used', async (t) => {
  const counted = rule({ thresholdCount: 2, thresholdWindowMs: 10 * minute })
  const over = (windowMs: number | undefined) => outcome(counted, at(0, { count: 5, windowMs }), {})
  t.equal(over(10 * minute), 'sent', 'exactly as long')
  t.equal(over(minute), 'sent')
  t.equal(over(10 * minute + 1), 'window-untrusted')
  t.equal(over(undefined), 'window-untrusted')
  t.equal(outcome(rule({ thresholdCount: 2 }), at(0, { count: 5 }), {}), 'sent', 'a rule without one believes all')
})

t.test('N-077 within the dedupe window an alert is sent once', async (t) => {
  const once = rule({ dedupeWindowMs: 10 * minute })
  t.equal(outcome(once, at(0), {}), 'sent')
  t.equal(outcome(once, at(10 * minute - 1), { lastSentAt: 0 }), 'duplicate')
  t.equal(outcome(once, at(10 * minute), { lastSentAt: 0 }), 'sent')
})

t.test('N-078 within the silence window no message is sent again', async (t) => {
  const quiet = rule({ silenceWindowMs: 30 * minute })
  t.equal(outcome(quiet, at(0), {}), 'sent')
  t.equal(outcome(quiet, at(30 * minute - 1), { lastSentAt: 0 }), 'silenced')
  t.equal(outcome(quiet, at(30 * minute), { lastSentAt: 0 }), 'sent')
})

t.test(
  'N-083 N-084 B38 a continuing alert is escalated, also during the silence, and not again within its window',
  async (t) => {
    const escalation = {
      enabled: true,
      afterMs: 30 * minute,
      dedupeWindowMs: 120 * minute,
      channels: ['mail', 'database'],
      recipientUserIds: [9, 7],
    }
    const patient = rule({ silenceWindowMs: 240 * minute, escalation })
    t.equal(outcome(patient, at(0), {}), 'sent', 'the first message is for the receivers of the rule')
    t.equal(outcome(patient, at(30 * minute - 1), { lastSentAt: 0 }), 'silenced')
    t.same(decideAlert(patient, at(30 * minute), { lastSentAt: 0 }), {
      shouldSend: true,
      outcome: 'escalated',
      channels: ['database', 'mail'],
      recipientUserIds: [7, 8, 9],
      dedupeKey: 'app:1',
    })
    const escalated = { lastSentAt: 0, lastEscalatedAt: 30 * minute }
    t.equal(outcome(patient, at(150 * minute - 1), escalated), 'silenced')
    t.equal(outcome(patient, at(150 * minute), escalated), 'escalated')

    const often = rule({ escalation, dedupeWindowMs: 10 * minute })
    const going = { lastSentAt: 20 * minute, unresolvedSince: 0 }
    t.equal(outcome(often, at(30 * minute), going), 'escalated', 'the first message is what it is measured from')
    t.equal(outcome(often, at(29 * minute), going), 'duplicate', 'an escalation is no reason to repeat a message')
    t.equal(outcome(rule({ escalation: { ...escalation, enabled: false } }), at(30 * minute), going), 'sent')
    const { afterMs: _, ...endless } = escalation
    t.equal(outcome(rule({ escalation: endless }), at(300 * minute), going), 'sent', 'without a time, never')
  },
)

const window = fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined })
const anyRule = fc.record({
  code: fc.constant('a.b'),
  enabled: fc.constant(true),
  thresholdCount: fc.integer({ min: 1, max: 4 }),
  thresholdWindowMs: window,
  dedupeWindowMs: window,
  silenceWindowMs: window,
  channels: fc.constant(['database']),
  recipientUserIds: fc.constant([1]),
  escalation: fc.record({
    enabled: fc.boolean(),
    afterMs: window,
    dedupeWindowMs: window,
    channels: fc.constant(['mail']),
    recipientUserIds: fc.constant([2]),
  }),
})
const anyEvents = fc.array(
  fc.record({ pause: fc.integer({ min: 0, max: 30 }), count: fc.integer({ min: 1, max: 5 }), windowMs: window }),
  { maxLength: 60 },
)

interface Step {
  readonly rule: NotificationRule
  readonly event: RuleEvent
  readonly sent: boolean
  readonly escalated: boolean
}

/** Returns the decisions for these events, one after the other. */
function play(
  rule: NotificationRule,
  events: readonly { pause: number; count: number; windowMs: number | undefined }[],
) {
  let [now, state] = [1000, {}]
  return events.map(({ pause, count, windowMs }): Step => {
    now += pause
    const event = at(now, { count, windowMs })
    const decision = decideAlert(rule, event, state)
    state = alertStateAfter(decision, now, state)
    return { rule, event, sent: decision.shouldSend, escalated: decision.outcome === 'escalated' }
  })
}

const moments = (steps: readonly Step[], which: (step: Step) => boolean) =>
  steps.filter(which).map(({ event }) => event.occurredAt)
const gaps = (moments: readonly number[]) => moments.slice(1).map((moment, index) => moment - (moments[index] ?? 0))

t.test('N-075 N-076 N-077 N-084 any events at any frequency', async (t) => {
  const property = fc.property(anyRule, anyEvents, (rule, events) => {
    const steps = play(rule, events)
    for (const { event, sent } of steps.filter(({ sent }) => sent)) {
      if (!sent) continue
      if (event.count < rule.thresholdCount) throw new Error('sent below the threshold')
      const limit = rule.thresholdWindowMs
      if (limit !== undefined && !(Number(event.windowMs) <= limit)) throw new Error('believed too long a window')
    }
    if (gaps(moments(steps, ({ sent }) => sent)).some((gap) => gap < (rule.dedupeWindowMs ?? 0))) {
      throw new Error('sent twice within the dedupe window')
    }
    const { afterMs = 0, dedupeWindowMs = afterMs } = rule.escalation
    const shortest = Math.max(afterMs, dedupeWindowMs)
    if (gaps(moments(steps, ({ escalated }) => escalated)).some((gap) => gap < shortest)) {
      throw new Error('escalations come in a flood')
    }
    const silence = rule.silenceWindowMs ?? 0
    const sends = steps.filter(({ sent }) => sent)
    const early = sends.filter(
      ({ event, escalated }, index) =>
        !escalated && index > 0 && event.occurredAt - Number(sends[index - 1]?.event.occurredAt) < silence,
    )
    if (early.length > 0) throw new Error('the silence was broken by what is no escalation')
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 2000 }))
})

t.test('N-076 N-077 N-078 a longer window never sends more at one time, but accepts more counts', async (t) => {
  const state = fc.record({ lastSentAt: fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined }) })
  const event = fc.record({ count: fc.integer({ min: 1, max: 5 }), windowMs: window })
  const property = fc.property(anyRule, event, state, fc.integer({ min: 0, max: 30 }), (rule, event, state, more) => {
    const now = at(100, event)
    const sends = (changed: Partial<NotificationRule>) => decideAlert({ ...rule, ...changed }, now, state).shouldSend
    const longer = (ms: number | undefined) => (ms === undefined ? undefined : ms + more)
    const is = sends({})
    const quieter = sends({
      dedupeWindowMs: longer(rule.dedupeWindowMs),
      silenceWindowMs: longer(rule.silenceWindowMs),
    })
    const higher = sends({ thresholdCount: rule.thresholdCount + more })
    const trusting = sends({ thresholdWindowMs: longer(rule.thresholdWindowMs) })
    return (is || !quieter) && (is || !higher) && (!is || trusting)
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 2000 }))
})

t.test('N-079 one key does not affect another', async (t) => {
  const once = rule({ dedupeWindowMs: 10 * minute, silenceWindowMs: 10 * minute })
  t.equal(outcome(once, at(minute, { dedupeKey: 'app:1' }), { lastSentAt: 0 }), 'duplicate')
  t.match(decideAlert(once, at(minute, { dedupeKey: 'app:2' }), {}), { shouldSend: true, dedupeKey: 'app:2' })
})
