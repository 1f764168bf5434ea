import { type Database, findPage, type PageWindow } from '@plinth/database'
import type { Identity, Operator, Principal } from '@plinth/iam'
import { nearestName, omitUndefined } from '@plinth/kernel'
import type { Notification } from '@plinth/notification'
import type { RuleSaver } from './alert-sender.ts'
import type { NotificationRule } from './contract.ts'
import { businessError } from './declarations.ts'
import { Rule, type RuleRow } from './entities.ts'
import { inboxChannel, normalizeRule, type RuleInput } from './normalize.ts'
import type { SavedRule } from './raised-events.ts'
import { viewOfRule } from './rule-views.ts'

interface RuleFilter {
  readonly enabled?: boolean | undefined
  /** Part of the code, in upper or lower case. */
  readonly keyword?: string | undefined
}

interface RulesDependencies {
  readonly db: Database
  readonly identity: Pick<Identity, 'assertInScope' | 'reachedOf'>
  readonly notification: Pick<Notification, 'channels'>
  /** Called after the commit of a change. */
  readonly changed: () => void
}

/** Maximum number of rules, so that all rules can be read fast. */
export const maxRules = 2000

/** Reads rules, and prepares them for writing. `ruleOperations` writes them. */
export class Rules {
  readonly #parts: RulesDependencies
  readonly changed: () => void

  constructor(parts: RulesDependencies) {
    this.#parts = parts
    this.changed = parts.changed
  }

  async list({ enabled, keyword = '' }: RuleFilter, principal: Principal, window: PageWindow) {
    const where = { $and: [enabled === undefined ? {} : { enabled }, await this.rowsOf(principal)] }
    const search = { text: keyword, properties: ['code'] }
    return findPage<RuleRow>(this.#parts.db.fork(), Rule.entity, where, window, { search })
  }

  /** Returns the rules that a caller may read, sorted by code. */
  async all(principal: Principal): Promise<readonly NotificationRule[]> {
    const rows = await this.rowsOf(principal)
    const found = await this.#parts.db.fork().find(Rule.entity, rows, { orderBy: { code: 'asc' } })
    return found.map(ruleOf)
  }

  /**
   * Returns a condition for the rules that a caller may read: all recipients must be in the data scope. The recipients
   * are checked in memory, because there are at most `maxRules` rules.
   */
  async rowsOf(principal: Principal): Promise<object> {
    if (principal.dataScope === 'all') return {}
    const fields = ['id', 'recipientUserIds', 'escalationRecipientUserIds'] as const
    const rules = await this.#parts.db.fork().find(Rule.entity, {}, { fields })
    const named = rules.map(({ id, recipientUserIds, escalationRecipientUserIds }) => ({
      id,
      userIds: [...recipientUserIds, ...escalationRecipientUserIds],
    }))
    const reached = await this.#parts.identity.reachedOf(
      principal,
      named.flatMap(({ userIds }) => userIds),
    )
    const visible = named.filter(({ userIds }) => userIds.length > 0 && userIds.every((userId) => reached.has(userId)))
    return { id: { $in: visible.map(({ id }) => id) } }
  }

  async findByCode(code: string): Promise<SavedRule | undefined> {
    const rule = await this.#parts.db.fork().findOne(Rule.entity, { code })
    return rule === null ? undefined : { ...ruleOf(rule), saver: saverOf(rule) }
  }

  /**
   * Returns the columns of a rule that an operator saves.
   *
   * @param before the stored rule; `undefined` for a new one
   * @throws BusinessError "400" `notification-rules.channel-unknown`; "403" `notification-rules.recipients-needed`,
   *   `iam.out-of-scope` for a recipient outside the data scope; "409" `notification-rules.too-many`
   */
  async prepare(input: RuleInput, before: RuleRow | undefined, operator: Operator) {
    const rule = normalizeRule(input)
    await this.#check(rule, before && ruleOf(before), operator)
    if (before === undefined && (await this.#parts.db.fork().count(Rule.entity)) >= maxRules) {
      throw businessError('too-many', { params: { most: maxRules } })
    }
    return { ...columnsOf(rule), ...saverColumnsOf(operator) }
  }

  /**
   * Checks channels and recipients. Those that were in the rule before may be missing in the product now, but new ones
   * must exist.
   */
  async #check(rule: NotificationRule, old: NotificationRule | undefined, { principal }: Operator): Promise<void> {
    const loaded = this.#parts.notification.channels().map(({ code }) => code)
    const held = old === undefined ? [] : channelsOf(old)
    const channel = channelsOf(rule).find(
      (code) => code !== inboxChannel && !loaded.includes(code) && !held.includes(code),
    )
    if (channel !== undefined) {
      const near = nearestName(channel, loaded)
      const params: Readonly<Record<string, string>> = omitUndefined({
        channel,
        loaded: loaded.join(', '),
        nearest: near,
      })
      throw businessError('channel-unknown', { params, data: { channel, field: 'channels', loaded } })
    }
    if (principal.dataScope !== 'all' && recipientsOf(rule).length === 0) {
      throw businessError('recipients-needed', { data: { field: 'recipientUserIds' } })
    }
    const known = new Set(old === undefined ? [] : recipientsOf(old))
    const added = recipientsOf(rule).filter((userId) => !known.has(userId))
    if (added.length > 0) await this.#parts.identity.assertInScope(principal, added, 'recipientUserIds')
  }
}

const channelsOf = ({ channels, escalation }: NotificationRule) => [...channels, ...escalation.channels]
const recipientsOf = ({ recipientUserIds, escalation }: NotificationRule) => [
  ...new Set([...recipientUserIds, ...escalation.recipientUserIds]),
]

/** Merges a change into a rule, in the form in which operators enter rules. Absent fields stay unchanged. */
export function mergedRule(before: RuleRow, change: Partial<RuleInput>): RuleInput {
  const rule = viewOfRule(before)
  return { ...rule, ...change, escalation: { ...rule.escalation, ...change.escalation } }
}

function columnsOf({ escalation, ...rule }: NotificationRule) {
  return {
    code: rule.code,
    enabled: rule.enabled,
    thresholdCount: rule.thresholdCount,
    thresholdWindowMs: rule.thresholdWindowMs ?? null,
    dedupeWindowMs: rule.dedupeWindowMs ?? null,
    silenceWindowMs: rule.silenceWindowMs ?? null,
    channels: [...rule.channels],
    recipientUserIds: [...rule.recipientUserIds],
    escalationEnabled: escalation.enabled,
    escalationAfterMs: escalation.afterMs ?? null,
    escalationDedupeWindowMs: escalation.dedupeWindowMs ?? null,
    escalationChannels: [...escalation.channels],
    escalationRecipientUserIds: [...escalation.recipientUserIds],
    digest: rule.digest ?? null,
  }
}

export const saverColumnsOf = ({ principal: { userId, dataScope, orgId } }: Operator) => ({
  savedById: userId,
  savedScope: dataScope,
  savedOrgId: orgId,
})

const saverOf = ({ savedById, savedScope, savedOrgId }: RuleRow): RuleSaver | undefined =>
  savedScope == null ? undefined : { userId: savedById ?? undefined, dataScope: savedScope, orgId: savedOrgId ?? null }

function ruleOf(row: RuleRow): NotificationRule {
  return {
    code: row.code,
    enabled: row.enabled,
    thresholdCount: row.thresholdCount,
    thresholdWindowMs: row.thresholdWindowMs ?? undefined,
    dedupeWindowMs: row.dedupeWindowMs ?? undefined,
    silenceWindowMs: row.silenceWindowMs ?? undefined,
    channels: row.channels,
    recipientUserIds: row.recipientUserIds,
    escalation: {
      enabled: row.escalationEnabled,
      afterMs: row.escalationAfterMs ?? undefined,
      dedupeWindowMs: row.escalationDedupeWindowMs ?? undefined,
      channels: row.escalationChannels,
      recipientUserIds: row.escalationRecipientUserIds,
    },
    digest: row.digest ?? undefined,
  }
}
