import { defineChangeSet } from '@plinth/migrations'

export const indexTraceIds = defineChangeSet({
  id: '0016-index-trace-ids',
  up: ({ schema }) => [schema.createIndex('iam_audit_trace_id_id_index').on('iam_audit').columns(['trace_id', 'id'])],
})
