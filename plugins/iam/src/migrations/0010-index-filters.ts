import { defineChangeSet } from '@plinth/migrations'

export const indexFilters = defineChangeSet({
  id: '0010-index-filters',
  up: ({ schema }) => {
    const replaced = (name: string, table: string, columns: readonly string[]) => [
      schema.dropIndex(`${table}_${name}_index`).on(table),
      added(table, columns),
    ]
    const added = (table: string, columns: readonly string[]) =>
      schema
        .createIndex(`${table}_${columns.join('_')}_index`)
        .on(table)
        .columns([...columns])
    return [
      ...replaced('email_folded', 'iam_user', ['email_folded', 'id']),
      ...replaced('created_at', 'iam_user', ['created_at', 'id']),
      ...replaced('last_login_at', 'iam_user', ['last_login_at', 'id']),
      ...replaced('org_id', 'iam_user', ['org_id', 'id']),
      added('iam_user', ['enabled', 'id']),
      ...replaced('role_id', 'iam_user_role', ['role_id', 'user_id']),
      ...replaced('user_id', 'iam_login_audit', ['user_id', 'id']),
      ...replaced('actor_user_id', 'iam_audit', ['actor_user_id', 'id']),
      ...replaced('target_type_target_id', 'iam_audit', ['target_type', 'target_id', 'id']),
      ...replaced('target_type_target_name', 'iam_audit', ['target_type', 'target_name', 'id']),
      added('iam_audit', ['target_id', 'id']),
      added('iam_audit', ['target_name', 'id']),
    ]
  },
})
