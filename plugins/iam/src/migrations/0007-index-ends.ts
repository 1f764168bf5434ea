import { defineChangeSet } from '@plinth/migrations'

export const indexEndTimes = defineChangeSet({
  id: '0007-index-ends',
  up: ({ schema }) => [
    schema.createIndex('iam_token_revoked_at_index').on('iam_token').column('revoked_at'),
    schema.createIndex('iam_token_last_seen_at_index').on('iam_token').column('last_seen_at'),
    schema.createIndex('iam_audit_actor_id_index').on('iam_audit').columns(['actor', 'id']),
    schema.createIndex('iam_audit_action_id_index').on('iam_audit').columns(['action', 'id']),
    schema.createIndex('iam_login_audit_client_ip_id_index').on('iam_login_audit').columns(['client_ip', 'id']),
    schema.createIndex('iam_login_audit_success_id_index').on('iam_login_audit').columns(['success', 'id']),
  ],
})
