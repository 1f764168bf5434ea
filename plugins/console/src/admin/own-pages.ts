import type { PageForm, PageNavigationPlace } from '@plinth/admin'
import { type LocalizedText, bilingual as text } from '@plinth/kernel'
import { memberAt, type Operation } from './operations.ts'

/** A custom page of the console. It shows content that cannot be declared as data. */
export interface BuiltInPage {
  readonly kind: 'own'
  /** Id of the page. The browser finds the view by this id in `web/admin/own/own-pages.tsx`. */
  readonly id: string
  readonly title: LocalizedText
  readonly place: PageNavigationPlace
  /**
   * Id of the operation that the page requires. Users who may call it see the page. If the product has no such
   * operation, it does not have the page.
   */
  readonly source: string
  /** URL parameters that accept an id, so that columns can link to the page. */
  readonly opens?: readonly string[]
  /**
   * Tables that the operations of the page read, by operation id. After a write to one of its tables, an operation is
   * called again.
   */
  readonly live?: Readonly<Record<string, readonly string[]>>
  /** Ids of the other operations of the page. The page receives only those that the user may call. */
  readonly operations: readonly string[]
  /**
   * Parts of the page that belong to other plugins: the ids of their operations, by the operation that a part requires.
   * A product that has only such a part has the page too.
   */
  readonly parts?: Readonly<Record<string, readonly string[]>>
  /** Form whose fields the page shows. */
  readonly form?: PageForm
  /** Texts for the values of form fields and response columns, by member. */
  readonly labels?: Readonly<Record<string, Readonly<Record<string, LocalizedText>>>>
}

const channel = { labels: 'notification.channel' }

/** The page on which operators write, preview, send and schedule a message. */
const composePage: BuiltInPage = {
  kind: 'own',
  id: 'notification.compose',
  title: text('New message', '写消息'),
  place: { group: 'messages', order: 15 },
  source: 'postNotificationsSend',
  operations: ['getNotificationsSendMetadata', 'postNotificationsTemplatePreview', 'postAdminNotificationAudience'],
  form: {
    operation: 'postNotificationsSend',
    title: text('New message', '写消息'),
    submit: text('Send', '发送'),
    fields: [
      'channels',
      'allUsers',
      'recipientUserIds',
      'template',
      'subject',
      'content',
      'locale',
      'notBefore',
      'priority',
      'attributes',
    ],
    // A template replaces subject and content.
    showWhen: { subject: { template: [''] }, content: { template: [''] } },
    options: {
      channels: { ...channel, title: text('Channels', '渠道') },
      recipientUserIds: { labels: 'iam.user', title: text('Recipients', '接收人') },
      template: { labels: 'template.code', title: text('Template', '模板'), optional: true },
      locale: { labels: 'console.language', free: true },
    },
    long: ['content'],
    answer: [
      { field: 'channel', as: 'reference', of: channel },
      {
        field: 'outcome',
        as: 'status',
        tones: { accepted: 'good', rejected: 'bad', deferred: 'info', unknown: 'warn' },
        labels: {
          accepted: text('Accepted', '已接收'),
          rejected: text('Rejected', '已拒绝'),
          deferred: text('Deferred', '已推迟'),
          unknown: text('Unknown', '未知'),
        },
      },
      { field: 'errorMessage', as: 'text' },
      { field: 'hint', as: 'text' },
    ],
    outcome: { field: 'outcome', good: ['accepted'] },
  },
  labels: { priority: { normal: text('Normal', '普通'), critical: text('Critical', '紧急') } },
}

/** All custom pages. */
export const builtInPages: readonly BuiltInPage[] = [
  {
    kind: 'own',
    id: 'system-config.centre',
    title: { en: 'Config centre', 'zh-CN': '配置中心' },
    place: { group: 'configuration', order: 10 },
    source: 'getAdminSystemConfigKeys',
    opens: ['q', 'key'],
    live: {
      getAdminSystemConfigKeys: ['sys_config', 'sys_config_version'],
      getAdminSystemConfigInstances: ['sys_config_instance'],
    },
    operations: [
      'postAdminSystemConfigChangesPreview',
      'postAdminSystemConfigChanges',
      'postAdminSystemConfigVerifications',
      'getAdminSystemConfigInstances',
      'getAdminSystemConfigExport',
      'postAdminSystemConfigImport',
      'getAdminSystemConfigHistory',
      'postAdminSystemConfigRollback',
    ],
  },
  {
    kind: 'own',
    id: 'iam.role-matrix',
    title: { en: 'Roles and permissions', 'zh-CN': '角色权限矩阵' },
    place: { group: 'access', order: 25 },
    source: 'getAdminIamRoles',
    operations: [
      'getAdminIamPermissions',
      'getAdminIamRolesById',
      'putAdminIamRolesById',
      'getAdminIamUsers',
      'getAdminConsolePlugins',
    ],
  },
  {
    kind: 'own',
    id: 'console.plugins',
    title: { en: 'Plugins', 'zh-CN': '插件' },
    place: { group: 'product', order: 10 },
    source: 'getAdminConsolePlugins',
    operations: [],
  },
  {
    kind: 'own',
    id: 'authenticators.security',
    title: text('Sign-in and security', '登录与安全'),
    place: { group: 'account', order: 20 },
    source: 'getAuthAuthenticators',
    operations: [
      'postAuthPasskeysOptions',
      'postAuthPasskeys',
      'putAuthPasskeysById',
      'deleteAuthPasskeysById',
      'postAuthTotpOptions',
      'postAuthTotp',
      'deleteAuthTotp',
      'postAuthRecoveryCodes',
    ],
    parts: {
      getAuthOidcIdentities: [
        'getAuthOidcProviders',
        'postAuthOidcByProviderLinkStart',
        'deleteAuthOidcIdentitiesById',
      ],
    },
  },
  composePage,
]

type PageSource = Pick<BuiltInPage, 'source' | 'parts'>

/** Returns the id of the operation that a user must be allowed to call to see the page. */
export const sourceOf = ({ source, parts = {} }: PageSource, operations: ReadonlyMap<string, unknown>): string =>
  [source, ...Object.keys(parts)].find((id) => operations.has(id)) ?? source

/** Returns the ids of all operations of a custom page. A product may not have all of them. */
export const operationIdsOf = ({ source, operations, parts = {} }: BuiltInPage): readonly string[] => [
  source,
  ...operations,
  ...Object.entries(parts).flatMap(([id, others]) => [id, ...others]),
]

/**
 * Returns the problems of the custom pages. Each problem is one sentence. Pages whose plugin is not loaded are skipped.
 */
export function findCustomPageProblems(
  operations: ReadonlyMap<string, Operation>,
  declared: { has(id: string): boolean },
): readonly string[] {
  return builtInPages.flatMap((page) => {
    const { id, form, parts = {} } = page
    const loaded = Object.entries({ [page.source]: page.operations, ...parts }).filter(([one]) => operations.has(one))
    if (loaded.length === 0) return []
    const missing = loaded.flatMap(([, others]) => others.filter((name) => !operations.has(name)))
    const body = form === undefined ? undefined : operations.get(form.operation)?.body
    const unknown = (form?.fields ?? []).filter((name) => memberAt(body, name) === undefined)
    return [
      ...unknown.map((name) => `page "${id}": "${name}" is not a member of the body of ${form?.operation}`),
      ...missing.map((name) => `page "${id}": no loaded plugin provides the operation "${name}"`),
      ...(declared.has(id)
        ? [`page "${id}" is declared by a plugin, but the console already has a page with this id`]
        : []),
    ]
  })
}
