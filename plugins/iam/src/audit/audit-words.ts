import { plainValue, spoken } from '@plinth/http'
import { type AuditTexts, bilingual, type LocalizedText, localize, ownProperty } from '@plinth/kernel'

/** Names of the audited kinds, by the first word of their actions. */
export type KindsOfAuditedObjects = ReadonlyMap<string, AuditTexts>

/** Names of verbs that the plugin of an action does not name itself. */
const verbs: Readonly<Record<string, LocalizedText>> = {
  create: bilingual('Create', '新建'),
  update: bilingual('Change', '修改'),
  delete: bilingual('Delete', '删除'),
  enable: bilingual('Enable', '启用'),
  disable: bilingual('Disable', '停用'),
}

interface Entry {
  readonly action: string
  readonly targetType: string
  readonly targetId: number | null
  readonly targetName: string | null
  readonly summary: Readonly<Record<string, unknown>>
}

/** Returns what a record shows in a list: the names of the action and of the kind of its target, and the target. */
export function auditWords(
  { action, targetType, targetId, targetName, summary }: Entry,
  kinds: KindsOfAuditedObjects,
  locale: string,
) {
  const [first = '', ...rest] = action.split('.')
  const verb = rest.join('.')
  const kind = kinds.get(first)
  const words = ownProperty(kind?.actions ?? {}, verb) ?? ownProperty(verbs, verb)
  const titleOf = (name: string) => {
    const title = kinds.get(name)?.title
    return title === undefined ? spoken(name) : localize(title, locale)
  }
  const id = targetId === null ? targetName : String(targetId)
  const { labels, page, nameFrom } = kinds.get(targetType) ?? {}
  const name = targetId === null || nameFrom === undefined ? undefined : summary[nameFrom]
  return {
    actionName: `${titleOf(first)}: ${words === undefined ? spoken(verb) : localize(words, locale)}`,
    targetKind: titleOf(targetType),
    target:
      id === null
        ? null
        : {
            ...plainValue(id),
            name: typeof name === 'string' ? name : null,
            labels: labels ?? null,
            page: page ?? null,
          },
  }
}
