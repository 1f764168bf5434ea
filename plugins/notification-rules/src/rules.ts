import { UniqueConstraintViolationException } from '@mikro-orm/core'
import { type Database, findPage, type PageWindow, versionConflictData } from '@plinth/database'
import type { Identity, Operator, Principal } from '@plinth/iam'
import {
  type AuditSummary,
  auditFieldsOfCaller,
  type BusinessError,
  type Clock,
  type Kernel,
  nearestName,
  omitUndefined,
  writeAuditEntry,
} from '@plinth/kernel'
import type { Notification } from '@plinth/notification'
import type { RuleSaver } from './alert-sender.ts'
import type { NotificationRule } from './contract.ts'
import { businessError } from './declarations.ts'
import { RuleRow } from './entities.ts'
import { inboxChannel, normalizeRule, type RuleInput } from './normalize.ts'
import type { SavedRule } from './raised-events.ts'

/** Change of a rule. Absent fields stay unchanged. */
type RuleChange = Partial<RuleInput>

interface RuleFilter {
  readonly enabled?: boolean | undefined
  /** Part of the code, in upper or lower case. */
  readonly keyword?: string | undefined
}

interface RulesDependencies {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly identity: Pick<Identity, 'assertInScope' | 'reachedOf'>
  readonly notification: Pick<Notification, 'channels'>
  readonly kernel: Pick<Kernel, 'contributions'>
  /** Called after the commit of a change. */
  readonly changed: () => void
}

/** Maximum number of rules, so that all rules can be read fast. */
export const maxRules = 2000

/** Reads and changes rules. Each change writes an audit entry in the same transaction. */
export class Rules {
  readonly #parts: RulesDependencies

  constructor(parts: RulesDependencies) {
    this.#parts = parts
  }

  async list({ enabled, keyword = '' }: RuleFilter, principal: Principal, window: PageWindow) {
    const where = { $and: [enabled === undefined ? {} : { enabled }, await this.#rowsOf(principal)] }
    const search = { text: keyword, properties: ['code'] }
    return findPage<RuleRow>(this.#parts.db.fork(), RuleRow, where, window, { search })
  }

  /** Returns the rules that a caller may read, sorted by code. */
  async all(principal: Principal): Promise<readonly NotificationRule[]> {
    const rows = await this.#rowsOf(principal)
    const found = await this.#parts.db.fork().find(RuleRow, rows, { orderBy: { code: 'asc' } })
    return found.map(ruleOf)
  }

  /** @throws BusinessError "404" `notification-rules.unknown`, also if the caller may not read the rule */
  async get(id: number, principal: Principal): Promise<RuleRow> {
    const where = { $and: [{ id }, await this.#rowsOf(principal)] }
    const rule = await this.#parts.db.fork().findOne(RuleRow, where)
    if (rule === null) throw businessError('unknown')
    return rule
  }

  /**
   * Returns a condition for the rules that a caller may read: all recipients must be in the data scope. The recipients
   * are checked in memory, because there are at most `maxRules` rules.
   */
  async #rowsOf(principal: Principal): Promise<object> {
    if (principal.dataScope === 'all') return {}
    const fields = ['id', 'recipientUserIds', 'escalationRecipientUserIds'] as const
    const rules = await this.#parts.db.fork().find(RuleRow, {}, { fields })
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
    const rule = await this.#parts.db.fork().findOne(RuleRow, { code })
    return rule === null ? undefined : { ...ruleOf(rule), saver: saverOf(rule) }
  }

  /**
   * @throws BusinessError "409" `notification-rules.code-taken`, `notification-rules.too-many`; "400"
   *   `notification-rules.channel-unknown`; "403" `iam.out-of-scope` for a recipient outside the data scope
   */
  async create(input: RuleInput, operator: Operator): Promise<RuleRow> {
    const { db, clock } = this.#parts
    const rule = normalizeRule(input)
    await this.#check(rule, undefined, operator)
    const now = new Date(clock.now())
    const id = db.newId()
    await this.#unlessTaken(rule.code, async (em) => {
      if ((await em.count(RuleRow)) >= maxRules) throw businessError('too-many', { params: { most: maxRules } })
      const saved = saverColumnsOf(operator)
      await em.insert(RuleRow, { id, ...columnsOf(rule), version: 1, createdAt: now, updatedAt: now, ...saved })
      await this.#record(operator, 'create', { id, code: rule.code }, summaryOf(rule))
    })
    this.#parts.changed()
    return this.get(id, operator.principal)
  }

  /**
   * Changes a rule. @throws the errors of `create`; "404" `notification-rules.unknown`, "409"
   * `notification-rules.version-conflict`
   */
  async update(id: number, change: RuleChange, version: number | undefined, operator: Operator): Promise<RuleRow> {
    const before = await this.get(id, operator.principal)
    const old = ruleOf(before)
    const rule = normalizeRule(merged(old, change))
    await this.#check(rule, old, operator)
    return this.#write(before, version, rule, operator, 'update', summaryOf(rule))
  }

  /** @throws BusinessError "404" `notification-rules.unknown`, "409" `notification-rules.version-conflict` */
  async setEnabled(id: number, enabled: boolean, version: number | undefined, operator: Operator): Promise<RuleRow> {
    const before = await this.get(id, operator.principal)
    const rule = { ...ruleOf(before), enabled }
    return this.#write(before, version, rule, operator, enabled ? 'enable' : 'disable', {})
  }

  /** @throws BusinessError "404" `notification-rules.unknown`, "409" `notification-rules.version-conflict` */
  async delete(id: number, version: number | undefined, operator: Operator): Promise<void> {
    const rule = await this.get(id, operator.principal)
    await this.#parts.db.transactional(async (em) => {
      const deleted = await em.nativeDelete(RuleRow, { id, version: version ?? rule.version })
      if (deleted === 0) throw await this.#conflict(id, operator.principal)
      await this.#record(operator, 'delete', rule, {})
    })
    this.#parts.changed()
  }

  /** Deletes several rules. Skips rules that the operator may not read. @returns the number of deleted rules */
  async deleteAll(ids: readonly number[], operator: Operator): Promise<number> {
    const rows = await this.#rowsOf(operator.principal)
    const deleted = await this.#parts.db.transactional(async (em) => {
      const among = { $and: [{ id: { $in: [...new Set(ids)] } }, rows] }
      const rules = await em.find(RuleRow, among, { orderBy: { id: 'asc' } })
      let deleted = 0
      for (const { id, code } of rules) {
        if ((await em.nativeDelete(RuleRow, { id })) === 0) continue
        deleted += 1
        await this.#record(operator, 'delete', { id, code }, {})
      }
      return deleted
    })
    this.#parts.changed()
    return deleted
  }

  /** Rejects a rule that was changed since the operator read it. */
  async #write(
    before: RuleRow,
    version: number | undefined,
    rule: NotificationRule,
    operator: Operator,
    verb: string,
    summary: AuditSummary,
  ): Promise<RuleRow> {
    const { clock } = this.#parts
    const { id } = before
    if (version !== undefined && version !== before.version) throw await this.#conflict(id, operator.principal)
    const updatedAt = new Date(clock.now())
    const data = { ...columnsOf(rule), version: before.version + 1, updatedAt, ...saverColumnsOf(operator) }
    await this.#unlessTaken(rule.code, async (em) => {
      const written = await em.nativeUpdate(RuleRow, { id, version: before.version }, data)
      if (written === 0) throw await this.#conflict(id, operator.principal)
      await this.#record(operator, verb, { id, code: rule.code }, summary)
    })
    this.#parts.changed()
    return this.get(id, operator.principal)
  }

  async #conflict(id: number, principal: Principal): Promise<BusinessError> {
    return businessError('version-conflict', { data: versionConflictData(await this.get(id, principal)) })
  }

  /** The unique index rejects a code that is in use, even if two operators save at the same time. */
  async #unlessTaken(code: string, work: Parameters<Database['transactional']>[0]): Promise<void> {
    try {
      await this.#parts.db.transactional(work)
    } catch (cause) {
      if (!(cause instanceof UniqueConstraintViolationException)) throw cause
      throw businessError('code-taken', { params: { code }, data: { field: 'code' }, cause })
    }
  }

  /** Writes an audit entry in the current transaction. */
  #record(operator: Operator, verb: string, { id, code }: Pick<RuleRow, 'id' | 'code'>, summary: AuditSummary) {
    const entry = {
      ...auditFieldsOfCaller(operator),
      action: `notification-rule.${verb}`,
      subject: id,
      summary: { code, ...summary },
    }
    return writeAuditEntry(this.#parts.kernel, entry)
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

/** Merges a change into a rule, in the form in which operators enter rules. */
function merged(rule: NotificationRule, change: RuleChange): RuleInput {
  const seconds = (ms: number | undefined) => (ms === undefined ? null : ms / 1000)
  const { escalation, ...own } = rule
  return {
    ...own,
    thresholdWindow: seconds(rule.thresholdWindowMs),
    dedupeWindow: seconds(rule.dedupeWindowMs),
    silenceWindow: seconds(rule.silenceWindowMs),
    ...omitUndefined<RuleChange>(change),
    escalation: {
      ...escalation,
      after: seconds(escalation.afterMs),
      dedupeWindow: seconds(escalation.dedupeWindowMs),
      ...omitUndefined<Partial<RuleInput['escalation']>>(change.escalation ?? {}),
    },
  }
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
  }
}

const saverColumnsOf = ({ principal: { userId, username, dataScope, orgId } }: Operator) => ({
  updatedBy: username,
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
  }
}

const summaryOf = ({
  enabled,
  thresholdCount,
  channels,
  recipientUserIds,
  escalation,
}: NotificationRule): AuditSummary => ({
  enabled,
  thresholdCount,
  channels,
  recipientUserIds,
  escalation: escalation.enabled,
})
