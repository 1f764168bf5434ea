import { createStaticLabelSource, type Label, type LabelSource, maxLabels } from '@plinth/admin'
import { type Database, findPage } from '@plinth/database'
import { callerRows } from '@plinth/iam'
import { localize } from '@plinth/kernel'
import type { OpenScopes } from './contract.ts'
import { permissionCodes } from './declarations.ts'
import { AppRow, appOwnerColumn } from './entities.ts'

const first = { orderBy: [{ property: 'name', direction: 'asc' }], size: maxLabels, offset: 0, count: 'none' } as const

const labelOf = ({ id, name }: { readonly id: number; readonly name: string }): Label => ({ id, name })

export function openPlatformLabels(db: Database, scopes: OpenScopes): Readonly<Record<string, LabelSource>> {
  const named = (locale: string): Label[] =>
    scopes.all.map(({ code, displayName }) => ({ id: code, name: `${localize(displayName, locale)} (${code})` }))
  return {
    'open-platform.app': {
      permission: permissionCodes.appView,
      scope: 'caller',
      async byIds(ids, request) {
        const numbers = ids.map(Number).filter(Number.isSafeInteger)
        return (
          await db.fork().find(AppRow, { $and: [{ id: { $in: numbers } }, callerRows(request, appOwnerColumn)] })
        ).map(labelOf)
      },
      async search(text, request) {
        const search = { text, properties: ['name', 'appKey'] }
        return (await findPage(db.fork(), AppRow, callerRows(request, appOwnerColumn), first, { search })).items.map(
          labelOf,
        )
      },
    },
    'open-platform.scope': createStaticLabelSource(named, permissionCodes.appView),
  }
}
