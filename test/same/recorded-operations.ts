/** The operations whose behaviour is recorded, by plugin. */

type Members = Readonly<Record<string, unknown>>

export interface RecordedOperation {
  /** Id of the operation in the API description. */
  readonly id: string
  /** A valid body. */
  readonly body?: Members
  /** Another valid body, if the operation accepts an idempotency key. */
  readonly other?: Members
  /** Valid query parameters. */
  readonly query?: Readonly<Record<string, string>>
}

/** A row that no operation creates. It is inserted into its table with a new id. */
export interface InsertedRow {
  readonly table: string
  /** Values by the name of the column. */
  readonly columns: Readonly<Record<string, string | number | null>>
}

export interface RecordedResource {
  /**
   * Operation that creates a row, or the row. Each call with `{id}` in its path or body uses a new row. `{n}` in a body is a new
   * number.
   */
  readonly create: RecordedOperation | InsertedRow
  readonly operations: readonly RecordedOperation[]
}

const app = { name: 'Shop 店', description: 'Reads orders', scopes: [], rateLimitPerMinute: 5 }
const template = { locale: 'en', subject: 'Paid', content: 'Order {{orderNo}} is paid.' }

/** Time of inserted rows, in milliseconds since the epoch. Their ids belong to this time. */
export const insertedAt = Date.UTC(2026, 6, 1)
const range = { from: '2026-06-30T00:00:00Z', to: '2026-07-02T00:00:00Z' }

const rule = { enabled: true, thresholdCount: 3, thresholdWindow: 600, channels: ['database'], recipientUserIds: [] }

export const recordedResources: Readonly<Record<string, RecordedResource>> = {
  'open-platform': {
    create: { id: 'postAdminOpenPlatformApps', body: app },
    operations: [
      { id: 'getAdminOpenPlatformApps', query: { keyword: 'shop', sort: 'name', size: '2' } },
      { id: 'getAdminOpenPlatformAppsById' },
      { id: 'postAdminOpenPlatformApps', body: app, other: { ...app, name: 'Store' } },
      { id: 'putAdminOpenPlatformAppsById', body: { name: 'Store', description: null, version: 1 } },
      { id: 'postAdminOpenPlatformAppsByIdDisable', body: { version: 1 } },
      { id: 'postAdminOpenPlatformAppsByIdEnable', body: { version: 1 } },
      {
        id: 'postAdminOpenPlatformAppsByIdRotateSecret',
        body: { graceSeconds: 60, version: 1 },
        other: { force: true },
      },
      { id: 'deleteAdminOpenPlatformAppsById', query: { version: '1' } },
      { id: 'getAdminOpenPlatformScopes' },
      { id: 'getAdminOpenPlatformUsage', query: { from: '2026-01-01', to: '2026-01-31' } },
    ],
  },
  'notification-rules': {
    create: { id: 'postNotificationRules', body: { code: 'shop.lost-{n}', ...rule } },
    operations: [
      { id: 'getNotificationRules', query: { keyword: 'lost', enabled: 'true', size: '2' } },
      { id: 'getNotificationRulesById' },
      { id: 'postNotificationRules', body: { code: 'shop.lost-{n}', ...rule }, other: { code: 'shop.late', ...rule } },
      { id: 'putNotificationRulesById', body: { thresholdCount: 5, escalation: { after: 60 }, version: 1 } },
      { id: 'postNotificationRulesByIdDisable', body: { version: 1 } },
      { id: 'postNotificationRulesByIdEnable', body: { version: 1 } },
      { id: 'deleteNotificationRulesById', query: { version: '1' } },
      { id: 'deleteNotificationRules', body: { ids: ['{id}'] } },
      { id: 'getNotificationRulesTemplates' },
      { id: 'getNotificationRulesOpsSummary' },
    ],
  },
  template: {
    create: { id: 'postAdminTemplates', body: { code: 'paid-{n}', ...template } },
    operations: [
      { id: 'getAdminTemplates', query: { keyword: 'paid', size: '2', enabled: 'true' } },
      { id: 'getAdminTemplatesById' },
      { id: 'postAdminTemplates', body: { code: 'paid-{n}', ...template } },
      { id: 'putAdminTemplatesById', body: { subject: 'Thanks', content: 'Order {{orderNo}}', version: 1 } },
      { id: 'deleteAdminTemplatesById', query: { version: '1' } },
      { id: 'postAdminTemplatesPreview', body: { content: 'Order {{orderNo}}', variables: { orderNo: '7' } } },
    ],
  },
  social: {
    create: {
      table: 'social_outbound',
      columns: {
        account_code: 'shop',
        message_type: 'official-template',
        to_user: '***4711',
        template_id: null,
        client_message_id: 'm1',
        outcome: 'rejected',
        provider_message_id: null,
        provider_code: '40003',
        provider_message: 'invalid openid',
        created_at: insertedAt,
      },
    },
    operations: [
      { id: 'getAdminSocialMessages' },
      { id: 'getAdminSocialMessages', query: { accountCode: 'shop', outcome: 'rejected', size: '2', ...range } },
    ],
  },
  approval: {
    create: {
      table: 'approval_instance',
      columns: {
        workflow: 'money.web3.payment-settlement.review',
        action: 'settle',
        source_type: 'web3-settlement-review-log',
        source_id: '7',
        source_state: 'open',
        permission_snapshot: '["web3-settlement:execute"]',
        actor_user_id: 7,
        actor_name: null,
        result: 'refused',
        reason: 'approval.permission-missing',
        trace_id: 't1',
        created_at: insertedAt,
      },
    },
    operations: [
      { id: 'getAdminApprovals' },
      {
        id: 'getAdminApprovals',
        query: { workflow: 'money.web3.payment-settlement.review', sourceId: '8', size: '2', ...range },
      },
      { id: 'getAdminApprovals', query: { sourceType: 'web3-settlement-review-log', sourceId: '7', size: '2' } },
    ],
  },
  'member-points': {
    create: {
      table: 'points_expire_batch',
      columns: {
        asset: 'points:mall',
        open_asset: null,
        as_of: insertedAt,
        status: 'completed',
        cursor_expires_at: 0,
        cursor_id: 0,
        scanned: 3,
        expired: 2,
        points: 40,
        refused: 1,
        holder: null,
        lease_until: 0,
        started_at: insertedAt,
        finished_at: insertedAt,
      },
    },
    operations: [
      { id: 'getAdminMemberPointsExpireBatches' },
      { id: 'getAdminMemberPointsExpireBatches', query: { asset: 'points:mall', size: '2', ...range } },
    ],
  },
}
