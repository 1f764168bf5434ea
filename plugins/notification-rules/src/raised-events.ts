import type { Database } from '@plinth/database'
import type { Clock, Logger } from '@plinth/kernel'
import type { Notification } from '@plinth/notification'
import { Counter, type Registry } from 'prom-client'
import type { AlertSender, RuleSaver } from './alert-sender.ts'
import type { AlertStates } from './alert-states.ts'
import type {
  AlertState,
  NotificationRule,
  NotificationRules,
  RaisedEvent,
  RuleDecision,
  RuleEvent,
  RuleOutcome,
} from './contract.ts'
import { alertStateAfter, decideAlert, isSuppressed, reopenedState } from './decision.ts'
import { businessError } from './declarations.ts'
import { maxCodeLength, ruleCodePattern } from './normalize.ts'
import { alertTexts, categoryOf } from './rule-templates.ts'

const name = 'platform_notification_rule_events_total'

/** Counts events by outcome. The code is not a label, because callers may use any code. */
export function ruleMetrics(registry: Registry): { count(outcome: RuleOutcome): void; stop(): void } {
  const help = 'Events that rules of notification judged, by what was decided'
  const counter = new Counter({ name, help, labelNames: ['outcome'], registers: [registry] })
  return {
    count: (outcome) => counter.inc({ outcome }),
    stop: () => registry.removeSingleMetric(name),
  }
}

/** Maximum number of cached codes, including codes that have no rule. */
const maxCachedCodes = 1000
/** Milliseconds for which a cached rule is used. After that, another instance may have changed it. */
const freshMs = 1000

/** A rule with the user who saved it last. */
export interface SavedRule extends NotificationRule {
  /** Undefined in rules of earlier releases. */
  readonly saver: RuleSaver | undefined
}

interface Entry {
  readonly rule: SavedRule | undefined
  readonly readAt: number
}

/**
 * Cache of rules. A change on this instance takes effect immediately. On other instances, it takes effect within a
 * second.
 */
export class RuleCache {
  readonly #read: (code: string) => Promise<SavedRule | undefined>
  readonly #clock: Pick<Clock, 'monotonic'>
  #entries = new Map<string, Entry>()

  constructor(read: (code: string) => Promise<SavedRule | undefined>, clock: Pick<Clock, 'monotonic'>) {
    this.#read = read
    this.#clock = clock
  }

  async find(code: string): Promise<SavedRule | undefined> {
    const readAt = this.#clock.monotonic()
    const known = this.#entries.get(code)
    if (known !== undefined && readAt - known.readAt < freshMs) return known.rule
    const entries = this.#entries
    const rule = await this.#read(code)
    // Inserts the entry at the end, so that the first entry is the oldest one. If `clear` was called during the read,
    // `entries` is the discarded map.
    entries.delete(code)
    entries.set(code, { rule, readAt })
    for (const [oldest] of entries) {
      if (entries.size <= maxCachedCodes) break
      entries.delete(oldest)
    }
    return rule
  }

  clear(): void {
    this.#entries = new Map()
  }
}

const ruleCode = new RegExp(ruleCodePattern)
const maxKeyLength = 200
const largestCount = 1_000_000

interface RaisedEventsDependencies {
  readonly db: Database
  readonly rules: RuleCache
  readonly states: AlertStates
  readonly sender: AlertSender
  readonly notification: Pick<Notification, 'channels' | 'progressOf'>
  /** Milliseconds without an event after which an alert expires. */
  readonly quietMs: () => number
  readonly count: (outcome: RuleOutcome) => void
  readonly log: Logger
}

export class RaisedEvents implements NotificationRules {
  readonly #parts: RaisedEventsDependencies

  constructor(parts: RaisedEventsDependencies) {
    this.#parts = parts
  }

  async raise(event: RaisedEvent): Promise<RuleDecision> {
    const { code, dedupeKey = code } = event
    assertFit(event, dedupeKey)
    const { db, rules, count, log } = this.#parts
    const rule = await rules.find(code)
    const judge = (received: SavedRule) => db.transactional(() => this.#judge(received, event, dedupeKey))
    const decision =
      rule === undefined ? rejected('no-rule', dedupeKey) : (idle(rule, dedupeKey) ?? (await judge(rule)))
    const { outcome } = decision
    // Counts and logs only after the commit, because after a rollback the event is treated as if it had not been
    // raised.
    db.afterCommit(() => {
      count(outcome)
      log.debug({ code, dedupeKey, outcome }, 'a notification rule was applied to an event')
    })
    return decision
  }

  /** Decides about an event. The transaction locks the alert. */
  async #judge(rule: SavedRule, raised: RaisedEvent, dedupeKey: string): Promise<RuleDecision> {
    const { states, sender, notification, quietMs } = this.#parts
    const { stateKey, nowMs, count, state, lastMessageId } = await states.count(
      rule,
      dedupeKey,
      raised.count ?? 1,
      Math.max(quietMs(), maxWindowMs(rule)),
    )
    const event: RuleEvent = {
      code: rule.code,
      dedupeKey,
      occurredAt: nowMs,
      // If the caller counted the events, the window of the caller applies. Otherwise it is the window of the rule.
      ...(raised.count === undefined
        ? { count, windowMs: rule.thresholdWindowMs }
        : { count: raised.count, windowMs: raised.windowMs }),
      attributes: raised.attributes ?? {},
    }
    let before: AlertState = state
    let decided = decideAlert(rule, event, before)
    const isLastKnown = lastMessageId !== undefined && isSuppressed(decided)
    if (isLastKnown && (await notification.progressOf(lastMessageId)) === 'failed') {
      before = reopenedState(state, rule)
      // The events before the failed message have reached the threshold.
      decided = decideAlert(rule, { ...event, count: Math.max(event.count, rule.thresholdCount) }, before)
    }
    const decision = this.#withLoadedChannels(rule, decided)
    if (!decision.shouldSend) return decision
    const texts = alertTexts(rule.code)
    const occurredAt = new Date(raised.occurredAt ?? nowMs).toISOString()
    const messageId = await sender.send({
      channels: decision.channels,
      recipientUserIds: decision.recipientUserIds,
      code: rule.code,
      subject: raised.subject ?? texts.subject,
      content: raised.content ?? texts.content,
      locale: raised.locale,
      dedupeKey,
      variables: { code: rule.code, count: event.count, occurredAt, ...raised.variables },
      attributes: { module: categoryOf(rule.code), event: rule.code, ...raised.attributes },
      saver: rule.saver,
      digest: rule.digest,
      isEscalated: decision.outcome === 'escalated',
    })
    if (messageId === undefined) return rejected('no-recipients', dedupeKey)
    const after = alertStateAfter(decision, nowMs, before)
    await states.remember(stateKey, messageId, after, rule.thresholdWindowMs === undefined)
    return decision
  }

  /** Removes channels that are not loaded from a decision, so that the other channels can still send. */
  #withLoadedChannels({ code }: NotificationRule, decision: RuleDecision): RuleDecision {
    if (!decision.shouldSend) return decision
    const loaded = new Set(this.#parts.notification.channels().map((channel) => channel.code))
    const channels = decision.channels.filter((channel) => loaded.has(channel))
    if (channels.length === decision.channels.length) return decision
    const missing = decision.channels.filter((channel) => !loaded.has(channel))
    this.#parts.log.warn({ code, missing }, 'channels of a notification rule are not loaded')
    return channels.length === 0 ? rejected('no-channel', decision.dedupeKey) : { ...decision, channels }
  }
}

const rejected = (outcome: RuleOutcome, dedupeKey: string): RuleDecision => ({
  shouldSend: false,
  outcome,
  dedupeKey,
  channels: [],
  recipientUserIds: [],
})

/** Returns a decision if nobody receives the event. Such an event need not be counted. */
function idle({ enabled, recipientUserIds }: NotificationRule, dedupeKey: string): RuleDecision | undefined {
  if (!enabled) return rejected('disabled', dedupeKey)
  return recipientUserIds.length === 0 ? rejected('no-recipients', dedupeKey) : undefined
}

function assertFit({ code, count = 1, windowMs = 1 }: RaisedEvent, dedupeKey: string): void {
  const isKey = dedupeKey !== '' && [...dedupeKey].length <= maxKeyLength && !/[\p{Cc}\p{Cs}]/u.test(dedupeKey)
  const isCode = code.length <= maxCodeLength && ruleCode.test(code)
  const isCount = Number.isInteger(count) && count >= 1 && count <= largestCount
  if (!isKey || !isCode || !isCount || !(windowMs > 0)) throw businessError('event-invalid', { data: { code } })
}

const maxWindowMs = ({ thresholdWindowMs, dedupeWindowMs, silenceWindowMs, escalation }: NotificationRule) =>
  Math.max(
    ...[thresholdWindowMs, dedupeWindowMs, silenceWindowMs, escalation.afterMs, escalation.dedupeWindowMs].map(
      (ms) => ms ?? 0,
    ),
  )
