import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column, type Database, personalTable, updateRows } from '@plinth/database'
import { id, Type, text } from '@plinth/http'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { c, table } from '@plinth/table'

const codes = c.json(Type.Array(text))
const userIds = c.json(Type.Array(id))

/** A rule in the form that `normalizeRule` returns. */
export const Rule = table(
  'notification_rule',
  {
    id: c.id(),
    code: c.text(128),
    enabled: c.flag(),
    thresholdCount: c.integer(),
    thresholdWindowMs: c.bigint().nullable(),
    dedupeWindowMs: c.bigint().nullable(),
    silenceWindowMs: c.bigint().nullable(),
    channels: codes,
    recipientUserIds: userIds,
    escalationEnabled: c.flag(),
    escalationAfterMs: c.bigint().nullable(),
    escalationDedupeWindowMs: c.bigint().nullable(),
    escalationChannels: codes,
    escalationRecipientUserIds: userIds,
    /** Code of the digest that collects the messages. */
    digest: c.text(128).nullable(),
    /**
     * User who saved the rule last, with the data scope at that time. Alerts only reach recipients in this scope. Null in
     * rules of earlier releases, whose alerts reach all recipients.
     */
    savedById: c.reference('iam.user').nullable().internal(),
    savedScope: c
      .choice({ all: ['All', '全部'], org: ['Organisation', '组织'], self: ['Own', '本人'] }, 8)
      .nullable()
      .internal(),
    savedOrgId: c.reference('iam.org').nullable().internal(),
    ...c.edits(),
  },
  {
    title: { one: ['Rule', '规则'], many: ['Notification rules', '通知规则'] },
    // `Rules.rowsOf` restricts the rows by their recipients.
    owner: 'none',
    uniques: [{ columns: ['code'], reason: 'code-taken' }],
    indexes: [
      ['enabled', 'id'],
      ['enabled', 'code', 'id'],
      ['createdAt', 'id'],
      ['enabled', 'createdAt', 'id'],
    ],
  },
)
export type RuleRow = InferEntity<typeof Rule.entity>

/**
 * State of one alert, see alert-states.ts. All times are those of the database clock, in milliseconds since the epoch.
 */
export const AlertStateRow = defineEntity({
  name: 'NotificationRuleState',
  tableName: 'notification_rule_state',
  indexes: [{ properties: ['expiresAtMs', 'id'] }, { properties: ['code', 'id'] }],
  uniques: [{ properties: ['stateKey'] }],
  properties: {
    id: column.primaryKey(),
    /** SHA-256 of code and dedupe key. */
    stateKey: column.text(64),
    code: column.text(128),
    dedupeKey: column.text(200),
    counted: column.bigint(),
    windowStartedAtMs: column.bigint(),
    lastSentAtMs: column.bigint().nullable(),
    unresolvedSinceMs: column.bigint().nullable(),
    lastEscalatedAtMs: column.bigint().nullable(),
    /** Id of the last message in the list of messages. Null in rows of earlier releases. */
    lastMessageId: column.id().nullable(),
    /** Time after which the alert has expired. A later event starts a new alert. */
    expiresAtMs: column.bigint(),
  },
})

/** Returns the rules with this recipient. All rules are read, because there are only few. */
async function rulesFor(db: Database, userId: number): Promise<readonly RuleRow[]> {
  const rules = await db.fork().findAll(Rule.entity, { orderBy: { id: 'asc' } })
  return rules.filter(
    ({ recipientUserIds, escalationRecipientUserIds }) =>
      recipientUserIds.includes(userId) || escalationRecipientUserIds.includes(userId),
  )
}

export const ruleTables = (db: Database): readonly PersonalTable[] => [
  {
    table: 'notification_rule',
    title: bilingual('Rules that notify the user', '通知该用户的规则'),
    columns: ['recipient_user_ids', 'escalation_recipient_user_ids'],
    erasure: 'anonymised',
    overwritten: ['recipient_user_ids', 'escalation_recipient_user_ids'],
    reason: bilingual('The rule stays for its other recipients.', '规则对其他接收人仍然有效。'),
    async *read({ userId }) {
      for (const { id, code } of await rulesFor(db, userId)) yield { id, code }
    },
    count: async ({ userId }) => (await rulesFor(db, userId)).length,
    async erase({ userId }, signal) {
      const rules = await rulesFor(db, userId)
      for (const { id, ...rule } of rules) {
        signal.throwIfAborted()
        const without = (ids: readonly number[]) => ids.filter((one) => one !== userId)
        const recipientUserIds = without(rule.recipientUserIds)
        const escalationRecipientUserIds = without(rule.escalationRecipientUserIds)
        await updateRows(db, Rule.entity, { id }, { recipientUserIds, escalationRecipientUserIds })
      }
      return rules.length
    },
  },
  personalTable(db, Rule.entity, {
    title: bilingual('Rules that the user changed last', '用户最后修改的规则'),
    owner: { username: 'updated_by' },
    omit: ['recipientUserIds', 'escalationRecipientUserIds', 'savedById', 'savedScope', 'savedOrgId'],
    erasure: 'anonymised',
    set: { updatedBy: null, savedById: null },
    reason: bilingual('The rule belongs to the product.', '规则属于产品。'),
  }),
]
