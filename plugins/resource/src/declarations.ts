import { createPurgeTask, purgeKeys, rowsBefore } from '@plinth/coordination'
import { type database, selectionOf } from '@plinth/database'
import {
  type AuditedPropertyText,
  type AuditTexts,
  bilingual,
  type KeyDeclarations,
  key,
  type MessageCatalogues,
  type PermissionDeclaration,
  type ScheduledTask,
} from '@plinth/kernel'
import { type ColumnDescription, inSentence, kebabCase, localizedOf, titlesOfChoices } from '@plinth/table'
import { type Definition, operationsOf } from './definition.ts'
import { pageIdsOf } from './pages.ts'

/** Returns the distinct permissions of the operations, in the order of their first use. */
export function permissionsOf({ options }: Definition): readonly PermissionDeclaration[] {
  const permissions = operationsOf(options).flatMap(([, { access }]) => (access === 'user' ? [] : [access]))
  const byCode = new Map(permissions.map(({ code, title }) => [code, { code, displayName: localizedOf(title) }]))
  return [...byCode.values()]
}

export const messagesOf = ({ options: { area }, texts }: Definition): MessageCatalogues => ({
  en: { [area]: Object.fromEntries(Object.entries(texts).map(([name, { en }]) => [name, en])) },
  'zh-CN': { [area]: Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text['zh-CN']])) },
})

/** Returns the texts of the audited kind: titles of its columns, and names of its actions. */
export function auditedOf(definition: Definition): Readonly<Record<string, AuditTexts>> {
  const { auditKind, table, name, options } = definition
  if (auditKind === undefined) return {}
  const facts = Object.entries(table.columns).flatMap(([property, { description }]) =>
    description.title === undefined ? [] : [[property, factOf(description, description.title)] as const],
  )
  const actions = Object.entries(options.actions ?? {}).map(([action, { title }]) => [
    kebabCase(action),
    localizedOf(title),
  ])
  const texts: AuditTexts = {
    title: table.title.one,
    facts: Object.fromEntries(facts),
    ...(actions.length > 0 && { actions: Object.fromEntries(actions) }),
    ...(name !== undefined && { nameFrom: name }),
    ...(options.page && options.list && options.get && { page: pageIdsOf(definition).detail }),
  }
  return { [auditKind]: texts }
}

function factOf(column: ColumnDescription, title: AuditedPropertyText['title']): AuditedPropertyText {
  const { choices, labels, unit } = column
  return {
    title,
    ...(choices !== undefined && { values: titlesOfChoices(column) }),
    ...(labels !== undefined && { labels }),
    ...(unit !== undefined && 'in' in unit && { unitFrom: unit.in }),
  }
}

/** Returns the task that removes old rows, and its keys. */
export function retentionOf({ options: { retention }, table: { name, title, entity } }: Definition) {
  if (retention === undefined) return { config: {}, tasks: [] }
  const { by, keep, keys } = retention
  const en = inSentence(title.many.en)
  const zh = title.many['zh-CN']
  const retentionKey = `${keys}.retention` as const
  const config = {
    [retentionKey]: key.duration({
      title: bilingual(`Retention of ${en}`, `${zh}保留时长`),
      description: bilingual(
        'Older rows are removed. 0 keeps them indefinitely.',
        '更早的记录会被清除；0 表示永久保留。',
      ),
      default: keep,
      minimum: '0s',
      reload: 'live',
    }),
    ...purgeKeys(keys, bilingual(`Interval for removing old ${en}.`, `清除旧${zh}的间隔。`)),
  }
  const column = selectionOf(entity).columns.find(({ property }) => property === by)?.name ?? by
  const task = createPurgeTask<{ requires: { database: typeof database }; config: KeyDeclarations }>(keys, {
    displayName: bilingual(`Remove old ${en}`, `清理旧${zh}`),
    old({ config, clock }) {
      const keepMs = Number(config.get(retentionKey))
      return keepMs === 0 ? [] : [rowsBefore(name, column, new Date(clock.now() - keepMs))]
    },
  })
  return { config, tasks: [task as unknown as ScheduledTask] }
}
