/**
 * The examples in the doc comments of the contracts, combined into one plugin so that the compiler checks them.
 * `contract-examples.test.ts` compares this file with the comments.
 */
import assert from 'node:assert'
import { http, metrics } from '@plinth/http'
import {
  type CommandDeclaration,
  type DeliveryOutcome,
  defineBusinessErrors,
  definePlugin,
  extensionPoint,
  healthCheck,
  type InstallTask,
  key,
  type NotificationChannel,
  notificationChannel,
  optional,
  type PermissionDeclaration,
  type QuickstartCleanup,
  quickstartCleanup,
  type RateLimitStore,
  type Recipient,
  rateLimitStore,
  type ScheduledTask,
  service,
} from '@plinth/kernel'

interface SmsBalance {
  cents(): number
}
const smsBalance = service<SmsBalance>('acme-sms.balance')
const smsGateway = extensionPoint<(text: string) => Promise<void>>('acme-sms.gateway')
class SmsMessage {}

const config = {
  'platform.acme-sms.poll': key.duration({ title: 'Poll', default: '1m' }),
  'platform.acme-sms.task-name': key.string({ title: 'Name', default: 'acme-sms.poll-balance' }),
}
type Keys = { readonly config: typeof config }

const tokenKey = 'platform.acme-sms.token'
const hasToken = () => true

/** Functions of the fictitious company ACME that the examples call. */
const account = async (signal: AbortSignal) => !signal.aborted
const isAtAcme = async (reference: string) => reference !== ''
const isPosted = async (text: string, signal: AbortSignal) => text !== '' && (await account(signal))
const rejected: DeliveryOutcome = { outcome: 'rejected', errorCode: 'REFUSED', errorMessage: 'refused' }
const counted = new Map<string, number>()
const used = {
  of: (name: string) => counted.get(name) ?? 0,
  add: (name: string, cost: number) => counted.set(name, used.of(name) + cost).get(name) ?? 0,
  subtract: (name: string, cost: number) => void counted.set(name, Math.max(0, used.of(name) - cost)),
  forget: (name: string) => void counted.delete(name),
}
const decide = ({ limit, windowMs }: { readonly limit: number; readonly windowMs: number }, count: number) => ({
  allowed: count <= limit,
  remaining: Math.max(0, limit - count),
  resetAtMs: windowMs,
  retryAfterMs: count <= limit ? 0 : windowMs,
})

const texts = { 'account-unknown': 'There is no such SMS account.' }
const businessError = defineBusinessErrors('acme-sms', texts, { 'account-unknown': '404' })

const viewBalance: PermissionDeclaration = {
  code: 'acme-sms:balance:view',
  displayName: { en: 'View the balance', 'zh-CN': '查看余额' },
  description: { en: 'What is left of the account.', 'zh-CN': '账户剩余金额。' },
}
export const changeAccounts: PermissionDeclaration = {
  code: 'acme-sms:account:save',
  displayName: { en: 'Change SMS accounts', 'zh-CN': '修改短信账户' },
  perConfigGroup: true,
}

const checkAccount: InstallTask<Keys> = {
  code: 'check-sms-account',
  displayName: { en: 'Check the SMS account', 'zh-CN': '检查短信账户' },
  order: 500,
  dependencies: ['write-settings'],
  required: false,
  retryable: true,
  isCompleted: ({ config }) => config.get('platform.acme-sms.poll') === 0,
  run: async ({ note, signal }) => note((await account(signal)) ? 'The account is open.' : 'The account is closed.'),
}

const pollBalance: ScheduledTask<Keys> = {
  name: 'acme-sms.poll-balance',
  nameFrom: 'platform.acme-sms.task-name',
  displayName: { en: 'Ask for the balance', 'zh-CN': '查询余额' },
  fixedDelay: 'platform.acme-sms.poll',
  autoStartup: true,
  irreversible: true,
  run: async ({ signal, log }) => log.info({ open: await account(signal) }, 'balance asked'),
}

const showBalance: CommandDeclaration = {
  name: 'sms balance',
  summary: 'what is left of the SMS account',
  arguments: [{ name: '[account]', description: 'another account' }],
  options: [{ flags: '--currency <code>', description: 'ISO 4217' }],
  setsUp: 'needed',
  run: (_, { args, output }) => output.result({ cents: 4711 }, `${args[0] ?? 'acme'}: 47.11`),
}

const acmeNumbersOf = (recipients: readonly Recipient[]): ReadonlyMap<Recipient, string> =>
  new Map(recipients.flatMap((one) => (one.kind === 'mobile' ? [[one, one.number] as const] : [])))

const smsChannel: NotificationChannel = {
  displayName: 'ACME SMS',
  recipientKinds: ['mobile'],
  traits: { idempotent: false, recipients: 'each' },
  enabled: () => true,
  providers: () => [{ code: 'acme', displayName: 'ACME', messageTypes: ['text'], attributes: [] }],
  send: async ({ content }, { signal }) => ((await isPosted(content, signal)) ? { outcome: 'accepted' } : rejected),
  ask: async (_message, { reference }) =>
    (await isAtAcme(reference)) ? { provider: 'acme', state: 'sent' } : undefined,
  target: ({ attributes }) => ({ server: 'acme', address: String(attributes['acme.chat']) }),
  reachable: async (userIds) => new Set(userIds),
  addresses: async (recipients) => acmeNumbersOf(recipients),
  verify: async (signal) => assert(await account(signal), 'The account is closed.'),
  condition: () => ({ keys: [tokenKey], missingKeys: hasToken() ? [] : [tokenKey] }),
}

export const countingStore: RateLimitStore = {
  traits: { shared: false, algorithm: 'fixed-window' },
  consume: ({ key, cost, ...window }) => decide(window, used.add(key, cost)),
  peek: ({ key, ...window }) => decide(window, used.of(key)),
  consumeAll: (requests) => requests.map(({ key, cost, ...window }) => decide(window, used.add(key, cost))),
  refund: ({ key, cost }) => used.subtract(key, cost),
  reset: (key) => used.forget(key),
}

export const messageCleanup: QuickstartCleanup = {
  displayName: { en: 'Text messages', 'zh-CN': '短信' },
  dataType: 'demo-messages',
  preview: async () => ({ targets: [{ type: 'messages', displayName: 'Messages', count: 3 }], blockers: [] }),
  execute: async () => ({ messages: 3 }),
}

export const acmeSms = definePlugin({
  id: 'acme.sms',
  title: { en: 'ACME text messages', 'zh-CN': 'ACME 短信' },
  version: '1.2.0',
  kernel: '^1.0.0',
  roles: ['web', 'worker', 'cli'],
  suppliesConfiguration: false,
  requires: { http, metrics: optional(metrics) },
  provides: [smsBalance],
  extensionPoints: [smsGateway],
  contributes: [notificationChannel, optional(rateLimitStore), quickstartCleanup, healthCheck],
  config: {
    'platform.acme-sms.poll': key.duration({ title: 'Poll', default: '1m' }),
    'platform.acme-sms.settings-file': key.string({ title: 'Settings file', default: '.env', scope: 'process' }),
    'platform.acme-sms.task-name': key.string({ title: 'Name', default: 'acme-sms.poll-balance' }),
  },
  configGroups: { 'acme-sms': { en: 'ACME text messages', 'zh-CN': 'ACME 短信' } },
  businessErrors: [businessError],
  permissions: [viewBalance],
  migrations: [{ id: '0001-create-sms' }],
  processTables: ['acme_presence'],
  entities: [SmsMessage],
  messages: { en: { sms: { sent: '{{count}} sent' } }, 'zh-CN': { sms: { sent: '已发送 {{count}} 条' } } },
  installTasks: [checkAccount],
  scheduledTasks: [pollBalance],
  outgoingHosts: ['api.acme.example'],
  commands: [showBalance],
  implements: ['messages'],
  setupDeadlineMs: 20_000,
  settingsFileKey: 'platform.acme-sms.settings-file',
  setup: ({ provide, contribute }) => {
    provide(smsBalance, { cents: () => 4711 })
    contribute(notificationChannel, 'acme-sms', smsChannel)
  },
  fallbackStart: ({ code }) => (code === 'ACME_SMS_ACCOUNT' ? { 'platform.acme-sms.poll': '0s' } : undefined),
})
