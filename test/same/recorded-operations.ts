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

export interface RecordedResource {
  /** Operation that creates a row. Each call with `{id}` in its path or body uses a new row. `{n}` in a body is a new number. */
  readonly create: RecordedOperation
  readonly operations: readonly RecordedOperation[]
}

const app = { name: 'Shop 店', description: 'Reads orders', scopes: [], rateLimitPerMinute: 5 }
const template = { locale: 'en', subject: 'Paid', content: 'Order {{orderNo}} is paid.' }

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
}
