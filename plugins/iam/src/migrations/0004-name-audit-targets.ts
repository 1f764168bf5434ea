import { defineChangeSet } from '@plinth/migrations'

export const nameAuditTargets = defineChangeSet({
  id: '0004-name-audit-targets',
  up: ({ schema, type }) => [
    schema.alterTable('iam_audit').addColumn('target_name', type.text(200)),
    schema
      .createIndex('iam_audit_target_type_target_name_index')
      .on('iam_audit')
      .columns(['target_type', 'target_name']),
  ],
})
