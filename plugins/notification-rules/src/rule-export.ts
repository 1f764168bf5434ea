import { type CsvColumn, type TaskHandler, taskType } from '@plinth/async-task'
import { line, Type } from '@plinth/http'
import type { Translator } from '@plinth/i18n'
import type { Identity, Principal } from '@plinth/iam'
import type { Static } from 'typebox'
import { permissionCodes } from './declarations.ts'
import type { RuleRow } from './entities.ts'
import { type RuleView, viewOfRule } from './rule-views.ts'
import { maxRules, type Rules } from './rules.ts'

export const ruleFilter = {
  enabled: Type.Optional(Type.Boolean()),
  keyword: Type.Optional(line(100, { description: 'Part of the code.' })),
}
const params = Type.Object(ruleFilter)

/**
 * Task that exports rules to a CSV file that only the owner of the task can read (document 2 of the specification,
 * `POST /notification-rules/export`).
 */
export const ruleExport = taskType('notification-rule.export', {
  displayName: { en: 'Export of notification rules', 'zh-CN': '导出通知规则' },
  params,
  readPermission: permissionCodes.ruleView,
})

const pageSize = 200

/** Returns the rules sorted by code. They are read in pages. */
async function* rulesOf(
  rules: Rules,
  filter: Static<typeof params>,
  principal: Principal,
  signal: AbortSignal,
): AsyncGenerator<RuleRow> {
  const orderBy = [{ property: 'code', direction: 'asc' } as const]
  let after: Awaited<ReturnType<Rules['list']>>['next'] | undefined
  while (after !== null) {
    signal.throwIfAborted()
    const window = { orderBy, size: pageSize, offset: 0, count: 'none' as const, ...(after ? { after } : {}) }
    const page = await rules.list(filter, principal, window)
    yield* page.items
    after = page.next
  }
}

/** Columns of the file. Their titles are texts under `notification-rules.columns`. */
const values: Readonly<Record<string, (rule: RuleView) => string | number | boolean | null>> = {
  code: ({ code }) => code,
  enabled: ({ enabled }) => enabled,
  thresholdCount: ({ thresholdCount }) => thresholdCount,
  thresholdWindow: ({ thresholdWindow }) => thresholdWindow,
  dedupeWindow: ({ dedupeWindow }) => dedupeWindow,
  silenceWindow: ({ silenceWindow }) => silenceWindow,
  channels: ({ channels }) => channels.join(', '),
  recipientUserIds: ({ recipientUserIds }) => recipientUserIds.join(', '),
  escalationEnabled: ({ escalation }) => escalation.enabled,
  escalationAfter: ({ escalation }) => escalation.after,
  escalationDedupeWindow: ({ escalation }) => escalation.dedupeWindow,
  escalationChannels: ({ escalation }) => escalation.channels.join(', '),
  escalationRecipientUserIds: ({ escalation }) => escalation.recipientUserIds.join(', '),
  version: ({ version }) => version,
  updatedAt: ({ updatedAt }) => updatedAt,
  updatedBy: ({ updatedBy }) => updatedBy,
  digest: ({ digest }) => digest,
}

/** Exports the rules that the owner of the task may read when the task runs. */
export const ruleExporter =
  (
    rules: Rules,
    identity: Pick<Identity, 'principalOf'>,
    i18n: Pick<Translator, 'translate'> | undefined,
  ): TaskHandler<Static<typeof params>> =>
  async (filter, { ownerId, locale, signal, progress, writeCsv }) => {
    const principal = await identity.principalOf(ownerId)
    if (principal === undefined) return
    const columns: CsvColumn<RuleView>[] = Object.entries(values).map(([name, value]) => ({
      title: i18n?.translate(locale, `messages.notification-rules.columns.${name}`) ?? name,
      value,
    }))
    let written = 0
    const views = async function* () {
      for await (const rule of rulesOf(rules, filter, principal, signal)) {
        yield viewOfRule(rule)
        progress((100 * ++written) / maxRules)
      }
    }
    await writeCsv({ name: 'notification-rules.csv' }, columns, views())
  }
