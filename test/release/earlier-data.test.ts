/**
 * Tests that this version reads data of earlier versions: columns that were added later, payloads in the outbox or in
 * the task queue, and JSON in columns. A stored shape must never get new required members, and a member must not be
 * removed while it is read.
 */
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { database } from '@plinth/database'
import { createDatabase, startMigrated } from '@plinth/dev/testing/database'
import { events, fitsSchema } from '@plinth/events'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import { defineProduct, localize, systemClock } from '@plinth/kernel'
import { compileChangeSets, dialects } from '@plinth/migrations'
import t from 'tap'
import quickstart from '../../examples/quickstart/plinth.config.ts'
import { checkInPoints } from '../../plugins/member-points/src/check-in/check-ins.ts'
import { orderPoints, splitReversal } from '../../plugins/member-points/src/orders/order-rewards.ts'
import { fromStoredRecipients, messagePart } from '../../plugins/notification/src/delivery/message-part.ts'
import { restoreMessage } from '../../plugins/notification/src/send-log/snapshot.ts'
import { planView, viewOfPlan } from '../../plugins/web3-settlement/src/reviews/review-views.ts'
import { changeSetsIn } from '../../scripts/plugin-pages.ts'

const house = join(import.meta.dirname, '../..')
const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
const password = 'Correct-horse-7'

const db = await createDatabase('sqlite')
t.teardown(() => db.drop())
const product = defineProduct({
  name: 'quickstart',
  plugins: quickstart.plugins,
  config: {
    ...quickstart.config,
    ...db.config,
    'platform.http.port': 0,
    // Responses contain members of another version, as in production during an upgrade.
    'platform.http.response-check': false,
    'platform.storage.root': join(db.directory, 'storage'),
    'platform.system-config.master-key-file': join(db.directory, 'master.key'),
    'platform.install.installed': true,
    'platform.rate-limit.enabled': false,
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': 1,
  },
})
const running = await startMigrated(product, { clock: systemClock })
t.teardown(() => running.stop('test ended'))
const store = running.service(database)
const server = running.service(http)
const people = running.service(accounts)
await people.createAdministrator({ username: 'root', password }, origin)

// biome-ignore lint/suspicious/noExplicitAny: answers of many routes
type Data = any

async function logIn(username: string) {
  const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: { username, password } })
  const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
  return async (method: 'GET' | 'POST' | 'PUT', path: string, payload?: object): Promise<Data> => {
    const body = payload === undefined ? {} : { payload }
    const response = await server.inject({ method, url: `/api/v1/${path}`, headers, ...body })
    t.equal(response.json().code, '200', `${method} ${path}: ${response.body}`)
    return response.json().data
  }
}
const root = await logIn('root')

const statementsOf = (dialect: (typeof dialects)[number]) =>
  compileChangeSets(changeSetsIn(product), dialect).flatMap(({ statements }) => statements)

t.test('C-040 rows from before a column are read: the column has a default, or the code accepts null', async (t) => {
  const metadata = store.fork().getMetadata()
  const entities = product.plugins
    .flatMap(({ entities = [] }) => entities)
    .map((entity) => metadata.get(entity as never))
  const added = statementsOf('postgresql').flatMap((statement) => {
    const [, table = '', column = '', rest = ''] =
      /^alter table "(\w+)" add column "(\w+)" (.+)$/.exec(statement.trim()) ?? []
    return column === '' ? [] : [{ table, column, rest }]
  })
  t.ok(added.length > 10)
  for (const { table, column, rest } of added) {
    if (/\bdefault\b/.test(rest)) continue
    t.notMatch(rest, /not null/, `${table}.${column}`)
    const own = entities.filter(({ tableName }) => tableName === table)
    const properties = own.flatMap(({ properties }) =>
      Object.values(properties as Record<string, { fieldNames: string[]; nullable?: boolean }>),
    )
    const reading = properties.filter(({ fieldNames }) => fieldNames.includes(column))
    t.ok(reading.length > 0, `an entity reads ${table}.${column}`)
    for (const { nullable } of reading) t.equal(nullable, true, `${table}.${column} may be null where it is read`)
  }
})

t.test('C-040 no column and no table that an earlier version writes is removed', async (t) => {
  const taking = /\bdrop (?:column|table)\b|\brename\b|\balter column\b|\bmodify\b|\bchange column\b/i
  for (const dialect of dialects) {
    const statements = statementsOf(dialect)
    t.ok(statements.length > 100)
    t.same(
      statements.filter((statement) => taking.test(statement)),
      [],
      `${dialect}: a field goes a release after its last reader; say here which release that was`,
    )
  }
})

interface Schema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly additionalProperties?: unknown
}

/** Returns the paths of the required members of a value. */
const needed = ({ properties = {}, required = [], items }: Schema, path = ''): string[] => [
  ...Object.entries(properties).flatMap(([name, member]) => [
    ...(required.includes(name) ? [`${path}${name}`] : []),
    ...needed(member, `${path}${name}.`),
  ]),
  ...(items === undefined ? [] : needed(items, `${path}[].`)),
]
const isClosed = (schema: unknown): boolean =>
  typeof schema === 'object' &&
  schema !== null &&
  ((schema as Schema).additionalProperties === false || Object.values(schema).some(isClosed))

t.test('C-040 events and tasks of an earlier version are accepted: required members are never added', async (t) => {
  const sources = globSync('{plugins/*/src,examples/mall}/**/*.ts', {
    cwd: house,
    exclude: (path) => /(^|\/)(node_modules|dist)$/.test(path),
  }).filter((file) => /= (?:event|taskType)\(/.test(readFileSync(join(house, file), 'utf8')))
  t.ok(sources.length > 8)
  const payloads = new Map<string, Schema>()
  for (const file of sources) {
    for (const value of Object.values(await import(join(house, file)))) {
      const { id, schema, params } = Object(value) as { id?: unknown; schema?: Schema; params?: Schema }
      const payload = schema ?? params
      if (typeof id === 'string' && typeof payload === 'object') payloads.set(id, payload)
    }
  }
  const first: Record<string, readonly string[]> = JSON.parse(
    readFileSync(join(import.meta.dirname, '../fixtures/stored-payloads.json'), 'utf8'),
  )
  t.same([...payloads.keys()].sort(), Object.keys(first).sort(), 'of each it is known what it had at first')
  for (const [id, schema] of payloads) {
    t.same(
      needed(schema).filter((member) => !first[id]?.includes(member)),
      [],
      `${id}: a new member is optional`,
    )
    t.notOk(isClosed(schema), `${id}: members of another version are no fault`)
  }
})

/**
 * All columns with JSON, and what their values contain. Lists of texts or numbers, and maps with arbitrary values, have
 * no fixed members.
 */
const jsonColumns: Readonly<Record<string, 'list' | 'map' | 'members'>> = {
  'approval_instance.permission_snapshot': 'list',
  'digest.attributes': 'map',
  'digest.data': 'map',
  'digest_definition.channels': 'list',
  'digest_definition.slots': 'list',
  'digest_item.data': 'map',
  'iam_api_token.permissions': 'list',
  'iam_audit.summary': 'map',
  'install_audit.summary': 'map',
  'money_payment_transaction.facts': 'map',
  'notification_inbox_content.jump': 'members',
  'notification_inbox_content.variables': 'map',
  'notification_message.channels': 'list',
  'notification_message_part.left_out': 'list',
  'notification_rule.channels': 'list',
  'notification_rule.escalation_channels': 'list',
  'notification_rule.escalation_recipient_user_ids': 'list',
  'notification_rule.recipient_user_ids': 'list',
  'notification_send_log.delivery_times': 'map',
  'notification_send_log.recipients': 'list',
  'oidc_identity.granted_role_ids': 'list',
  'open_app.scopes': 'list',
  'message_template.attachments': 'members',
  'message_template.test_values': 'map',
  'message_template.variables': 'list',
  'message_template_draft.attachments': 'members',
  'message_template_draft.test_values': 'map',
  'message_template_version.attachments': 'members',
  'message_template_version.test_values': 'map',
  'message_template_version.variables': 'list',
  'points_order_reward.rule_snapshot': 'members',
  'points_rule.config': 'members',
  'points_rule.display_description': 'members',
  'points_rule.display_title': 'members',
  'suppression_soft_bounce.times': 'list',
  'web3_chain.providers': 'members',
  'webhook_delivery.attempt_log': 'members',
  'webhook_endpoint.event_types': 'list',
  'web3_payment_callback_log.reasons': 'list',
  'web3_settlement_audit_log.confirmation_snapshot': 'members',
  'web3_settlement_audit_log.risk_reasons': 'list',
  'web3_settlement_review_log.last_reasons': 'list',
  'web3_settlement_review_log.permission_snapshot': 'list',
  'web3_settlement_review_log.plan_snapshot': 'members',
  'web3_settlement_review_log.reasons': 'list',
}

interface Sample {
  /** Name of the column or payload that stores the value. */
  readonly shape: string
  /** Reads a value as it was first stored, with an additional member that this version does not define. */
  readonly read: () => unknown
  readonly expected: unknown
}

const unknown = { ofAnotherVersion: { at: 1 } }
const user = { kind: 'user', userId: 7 } as const
const message = { id: 'm', subject: 's', content: 'c', variables: {}, recipients: [], attributes: {} }
const plan = {
  outTradeNo: 'A1',
  state: 'pending',
  reasons: [],
  causes: [],
  chainName: null,
  chainId: null,
  head: null,
  transactionHash: null,
  transfer: null,
  confirmations: null,
  requiredConfirmations: null,
  eventKey: null,
  fingerprint: 'f',
  fingerprintVersion: 1,
  providerId: null,
} as const
const attempt = {
  number: 1,
  startedAt: '2026-01-01T00:00:00.000Z',
  outcome: 'succeeded',
  status: 204,
  durationMs: 5,
  reason: null,
}
/** Returns the value in the form in which a column returns it. */
const stored = (value: object): Data => JSON.parse(JSON.stringify({ ...value, ...unknown }))

/** Where the attachments of a template are stored, and the operation that reads them. */
const templateFiles: Readonly<Record<string, (id: number) => Promise<Data>>> = {
  message_template: (id) => root('GET', `admin/templates/${id}`),
  message_template_draft: (id) => root('GET', `admin/templates/${id}/draft`),
  message_template_version: async (id) =>
    root(
      'GET',
      `admin/template-versions/${(await root('GET', `admin/template-versions?templateId=${id}`)).items[0].id}`,
    ),
}

const samples: readonly Sample[] = [
  ...Object.entries(templateFiles).map(([table, get]) => ({
    shape: `${table}.attachments`,
    async read() {
      const texts = { subject: 's', content: 'c' }
      const { id } = await root('POST', 'admin/templates', { code: table, locale: 'en', ...texts })
      const draft = { ...texts, version: 0, baseVersion: 1 }
      await root('PUT', `admin/templates/${id}/draft`, draft)
      const earlier = JSON.stringify([stored({ name: 'logo.png', disk: 'local', path: 'message-templates/logo.png' })])
      const key = table === 'message_template' ? 'id' : 'template_id'
      await store.execute(`update ${table} set attachments = ? where ${key} = ?`, [earlier, id])
      return (await get(id)).attachments.map(({ name, path }: Data) => [name, path])
    },
    expected: [['logo.png', 'message-templates/logo.png']],
  })),
  {
    shape: 'outbox_event.payload of notification.part',
    read() {
      const payload = stored({ notificationId: 1, channel: 'mail', part: 'mail:0', recipients: [user] })
      return [fitsSchema(messagePart.schema, payload), fromStoredRecipients(payload)]
    },
    expected: [true, [user]],
  },
  {
    shape: 'notification_send_log.payload',
    read: () => restoreMessage(JSON.stringify({ message: { ...message, recipients: [user] }, idempotencyKey: 'k' })),
    expected: { message: { ...message, recipients: [user] }, idempotencyKey: 'k' },
  },
  {
    shape: 'points_rule.config',
    read: () => [checkInPoints(stored({ points: 5 }), 7), orderPoints(250, stored({ points: 1 }))],
    expected: [5, 250],
  },
  {
    shape: 'points_order_reward.rule_snapshot',
    read: () => splitReversal(4, 3, { granted: 10, expired: 7, settled: 0, held: 0 }, stored({ points: 1 })),
    expected: { deducted: 3, claimed: 0, shortfall: 1, owed: 0 },
  },
  ...['points_rule.display_title', 'points_rule.display_description'].map((shape) => ({
    shape,
    read: () => localize(stored({ en: 'Survey', 'zh-CN': '问卷' }), 'zh-CN'),
    expected: '问卷',
  })),
  ...['web3_settlement_review_log.plan_snapshot', 'web3_settlement_audit_log.confirmation_snapshot'].map((shape) => ({
    shape,
    read() {
      const view = viewOfPlan(stored(plan), { explorers: new Map(), tokens: new Map(), orders: undefined })
      return [fitsSchema(planView, view), view.outTradeNo, view.reviewFingerprint]
    },
    expected: [true, 'A1', 'f'],
  })),
  {
    shape: 'web3_chain.providers',
    async read() {
      const providers = [{ id: 'node', url: 'https://node.example.com/rpc' }]
      const { id } = await root('POST', 'admin/web3/chains', { name: 'base', chainId: 8453, providers })
      const [{ providers: written }] = await store.query<Data>('select providers from web3_chain where id = ?', [id])
      const earlier = JSON.stringify(JSON.parse(written).map(stored))
      await store.execute('update web3_chain set providers = ? where id = ?', [earlier, id])
      return (await root('GET', `admin/web3/chains/${id}`)).providers
    },
    expected: [{ id: 'node' }],
  },
  {
    shape: 'webhook_delivery.attempt_log',
    async read() {
      const endpoint = { name: 'ERP', url: 'https://erp.example.org/', eventTypes: ['order.paid'] }
      const { id } = await root('POST', 'admin/webhooks/endpoints', endpoint)
      await root('POST', `admin/webhooks/endpoints/${id}/test`, {})
      // The attempt that this product begins no longer owns the row.
      const earlier = "update webhook_delivery set attempt_log = ?, status = 'delivered', lease_token = null"
      await store.execute(earlier, [JSON.stringify([stored(attempt)])])
      const { items } = await root('GET', 'admin/webhooks/deliveries')
      return items.map(({ attemptLog }: Data) => attemptLog)
    },
    expected: [[attempt]],
  },
  {
    shape: 'notification_inbox_content.jump',
    async read() {
      const { id } = await people.create({ username: 'ann', password }, origin)
      const requested = { channels: ['database'], recipientUserIds: [id], subject: 'Hello', content: 'Good morning' }
      await root('POST', 'notifications/send', requested)
      await running.service(events).idle()
      const earlier = JSON.stringify(stored({ module: 'forum', targetRoute: '/forum/topics/12' }))
      await store.execute('update notification_inbox_content set jump = ?', [earlier])
      const { items } = await (await logIn('ann'))('GET', 'notifications/inbox')
      return items.map(({ subject, module, targetRoute, targetUserId, sender }: Data) => [
        subject,
        module,
        targetRoute,
        targetUserId,
        sender,
      ])
    },
    expected: [['Hello', 'forum', '/forum/topics/12', null, null]],
  },
]

t.test('C-040 JSON in columns is read as it was first stored, and with members of another version', async (t) => {
  const declared = statementsOf('postgresql').flatMap((statement) => {
    const [, table = ''] = /^(?:create|alter) table "(\w+)"/.exec(statement.trim()) ?? []
    return [...statement.matchAll(/"(\w+)" jsonb\b/g)].map(([, column]) => `${table}.${column}`)
  })
  t.same(Object.keys(jsonColumns).sort(), declared.sort(), 'every column with JSON says what lies in it')
  const withMembers = Object.keys(jsonColumns).filter((name) => jsonColumns[name] === 'members')
  const shapes = new Set(samples.map(({ shape }) => shape))
  t.same(
    withMembers.filter((name) => !shapes.has(name)),
    [],
    'what has members has a sample',
  )
  for (const { shape, read, expected } of samples) t.same(await read(), expected, shape)
})

t.test('change sets of a release are not edited, because databases have applied them', async (t) => {
  const lines = readFileSync(join(house, 'test/fixtures/released-change-sets.txt'), 'utf8').trim().split('\n')
  t.ok(lines.length > 50)
  const digestOf = (path: string) =>
    createHash('sha256')
      .update(readFileSync(join(house, path)))
      .digest('hex')
  const edited = lines.filter((line) => {
    const [digest = '', path = ''] = line.split('  ')
    return digestOf(path) !== digest
  })
  t.strictSame(edited, [], 'add a change set instead')
})
