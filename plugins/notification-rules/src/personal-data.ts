import { type Database, personalTable, updateRows } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { RuleRow } from './entities.ts'

/** Returns the rules with this recipient. All rules are read, because there are only few. */
async function rulesFor(db: Database, userId: number): Promise<readonly RuleRow[]> {
  const rules = await db.fork().findAll(RuleRow, { orderBy: { id: 'asc' } })
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
        await updateRows(db, RuleRow, { id }, { recipientUserIds, escalationRecipientUserIds })
      }
      return rules.length
    },
  },
  personalTable(db, RuleRow, {
    title: bilingual('Rules that the user changed last', '用户最后修改的规则'),
    owner: { username: 'updated_by' },
    omit: ['recipientUserIds', 'escalationRecipientUserIds'],
    erasure: 'anonymised',
    set: { updatedBy: null },
    reason: bilingual('The rule belongs to the product.', '规则属于产品。'),
  }),
]
