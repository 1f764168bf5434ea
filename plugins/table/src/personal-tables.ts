import { type Database, personalTable, type RowOwner } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { type Columns, localizedOf } from './columns.ts'
import type { TableDescription, TableOptions } from './table.ts'

/**
 * Returns the rows of users in a table: those that contain the name of a user as their last editor, and those that
 * belong to a user.
 */
export function personalTablesOf(
  db: Database,
  table: TableDescription,
  options: TableOptions<Columns>,
): readonly PersonalTable[] {
  return [
    ...(table.hasEdits ? [editedRows(db, table, options)] : []),
    ...(table.owner === undefined || options.owner === 'none' ? [] : [ownedRows(db, table, table.owner, options)]),
  ]
}

function editedRows(
  db: Database,
  { entity, ownerProperties, title: { many } }: TableDescription,
  options: TableOptions<Columns>,
): PersonalTable {
  const { unexported = [], erasure = 'removed' } = options.owner === 'none' ? {} : options
  const isAnonymised = erasure !== 'removed' && 'anonymised' in erasure
  return personalTable(db, entity, {
    title: bilingual(`${many.en} that the user changed last`, `用户最后修改的${many['zh-CN']}`),
    owner: { username: 'updated_by' },
    // The row may belong to another user.
    omit: [...ownerProperties, ...unexported],
    erasure: 'anonymised',
    set: { updatedBy: null },
    reason: isAnonymised
      ? localizedOf(erasure.reason)
      : bilingual('Only the name of the user is removed.', '仅移除用户名。'),
  })
}

function ownedRows(
  db: Database,
  { entity, hasEdits, title }: TableDescription,
  owner: RowOwner,
  { erasure, personalTitle, unexported = [] }: Exclude<TableOptions<Columns>, { readonly owner: 'none' }>,
): PersonalTable {
  const { en, 'zh-CN': zh } = title.many
  const rows = {
    title: localizedOf(personalTitle ?? [`${en} of the user`, `用户名下的${zh}`]),
    owner,
    omit: [...unexported, ...(hasEdits ? ['updatedBy'] : [])],
  }
  if (erasure === 'removed') return personalTable(db, entity, { ...rows, erasure: 'removed' })
  if ('kept' in erasure)
    return personalTable(db, entity, { ...rows, erasure: 'kept', reason: localizedOf(erasure.kept) })
  const { anonymised: set, reason } = erasure
  return personalTable(db, entity, { ...rows, erasure: 'anonymised', set, reason: localizedOf(reason) })
}
