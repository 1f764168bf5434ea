import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  adminPages,
  attention,
  type ChartDeclaration,
  charts,
  type ListPageDeclaration,
  labelSources,
  type PageDeclaration,
  signInWays,
  tiles,
} from '@plinth/admin'
import type { LocalizedText } from '@plinth/config-schema'
import { database } from '@plinth/database'
import { assertMembers, startForTest } from '@plinth/dev/testing'
import { http, metrics, type Schema } from '@plinth/http'
import { accounts } from '@plinth/iam'
import { ledger } from '@plinth/money'
import t from 'tap'
import product from '../../examples/quickstart/plinth.config.ts'
import { itemOf, memberAt, operationsOf, withoutNull } from '../../plugins/console/src/admin/operations.ts'
import { findAttentionProblems, findChartProblems } from '../../plugins/console/src/admin/overview.ts'
import {
  builtInPages,
  findCustomPageProblems,
  operationIdsOf,
  sourceOf,
} from '../../plugins/console/src/admin/own-pages.ts'
import { findPageProblems } from '../../plugins/console/src/admin/page-faults.ts'
import { pageView } from '../../plugins/console/src/admin/page-views.ts'
import { findSignInProblems, signInViews } from '../../plugins/console/src/admin/sign-in-ways.ts'
import { tileProblems } from '../../plugins/console/src/admin/tiles.ts'
import type { Write } from '../../plugins/console/web/admin/api/page-types.ts'
import { addressOfCreated, resultOfWrite } from '../../plugins/console/web/admin/pages/forms/write-outcome.ts'
import en from '../../plugins/console/web/admin/text/en.json' with { type: 'json' }
import zhCN from '../../plugins/console/web/admin/text/zh-CN.json' with { type: 'json' }
import { addTexts, createTranslate } from '../../plugins/console/web/text/texts.ts'

const actor = { name: 'test', clientIp: '127.0.0.1', traceId: '', userAgent: '' }

const running = await startForTest(product, {
  set: {
    'platform.http.port': '0',
    // On a busy host the load shedder would otherwise reject requests.
    'platform.http.overload.max-wait': '1m',
    'platform.rate-limit.store-deadline': '1m',
    'platform.database.sqlite.file': join(t.testdir(), 'plinth.sqlite'),
  },
})
t.teardown(() => running.stop('test ended'))
const server = running.service(http)
// The plugins of this repository declare no page in a frame.
const pages = [...running.contributions(adminPages).values()].filter((page) => page.kind !== 'frame')
const needs = [...running.contributions(attention).values()]
const drawn = [...running.contributions(charts).values()]
const kinds = running.contributions(labelSources)

const password = 'Back-office-2026'
await running.service(accounts).createSuperAdministrator({ username: 'root', password }, actor)
const login = async (username: string) => {
  const answer = (
    await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: { username, password } })
  ).json()
  if (answer.code !== '200') throw new Error(`${username} cannot sign in: ${JSON.stringify(answer)}`)
  const { data } = answer
  return (url: string, language = 'en') =>
    server
      .inject({ url, headers: { authorization: `Bearer ${data.accessToken}`, 'accept-language': language } })
      .then((response) => response.json())
}
const asRoot = await login('root')

t.test('every page of the product names members that its routes have', async (t) => {
  t.ok(pages.length >= 6)
  t.strictSame(findPageProblems(pages, await operationsOf(server), kinds), [])
})

t.test('each list says in its own words that it has no rows', (t) => {
  const lists = pages.filter((page) => page.kind === 'list')
  t.ok(lists.length > 40)
  t.strictSame(
    lists.filter(({ empty }) => empty === undefined).map(({ id }) => id),
    [],
  )
  t.end()
})

/** A write as the browser receives it. */
interface ShownWrite extends Pick<Write, 'outcome' | 'created'> {
  readonly operation: string
  readonly method: string
  readonly label?: string
  readonly title?: string
}

/** Returns a response in which the members with these dotted names have these values. */
function responseWith(schema: Schema | undefined, values: Readonly<Record<string, unknown>>): unknown {
  if (schema?.['type'] === 'array') return [responseWith(schema.items, values)]
  const made: Record<string, unknown> = {}
  for (const [path, value] of Object.entries(values)) {
    const [first = '', ...rest] = path.split('.')
    const inner =
      rest.length === 0 ? value : responseWith(withoutNull(memberAt(schema, first)), { [rest.join('.')]: value })
    made[first] =
      inner !== null && typeof inner === 'object' && !Array.isArray(inner)
        ? { ...(made[first] as object), ...inner }
        : inner
  }
  return made
}

/** Returns the schema of a member of a response. A part of its name can be a list. */
const outcomeIn = (schema: Schema | undefined, name: string): Schema | undefined => {
  const item = schema?.['type'] === 'array' ? schema.items : schema
  const [first = '', ...rest] = name.split('.')
  const member = withoutNull(memberAt(item, first))
  return rest.length === 0 ? member : outcomeIn(member, rest.join('.'))
}

/** Writes that create an object whose page is not the one that the user sees. */
const expectedLinks = [
  'postAdminIamUsers > iam.user',
  'postAdminIamInvitations > iam.user',
  'postAdminTemplates > template.template',
  'postNotificationRules > notification.rule',
  'postNotificationSendLogsByIdRetry > notification.send',
  'postAdminNotificationChannelsByCodeTest > notification.send',
  'postAdminMemberPointsManualAdjustments > money.journal',
  'postAdminMemberPointsRules > member-points.rule',
  'postAdminSystemConfigRollback > system-config.request',
  'postAdminWeb3PaymentSettlementReviewLogs > web3-settlement.review',
]

t.test('each write says whether it succeeded, why it failed, and leads to what it created', async (t) => {
  const operations = await operationsOf(server)
  addTexts({ en, 'zh-CN': zhCN })
  let outcomes = 0
  const links = new Set<string>()
  for (const language of ['en', 'zh-CN'] as const) {
    const translate = createTranslate(language)
    for (const { id } of pages) {
      const { data } = await asRoot(`/api/v1/admin/console/pages/${id}`, language)
      const writes = [data.create, data.form, data.forms, data.actions, data.bulk].flat().filter(Boolean)
      for (const write of writes.filter(({ method }: ShownWrite) => method !== 'GET') as readonly ShownWrite[]) {
        const { operation, outcome, created, label: title = write.title ?? '' } = write
        const schema = operations.get(operation)?.data
        const resultOf = (value: unknown) => {
          const members = {
            ...(outcome && { [outcome.field]: value }),
            ...(outcome?.reason && { [outcome.reason]: 'Connection refused' }),
            ...(created && { [created.field]: 'a/7' }),
          }
          const answer = responseWith(schema, members)
          const { text, isFailure } = resultOfWrite(write, answer, { translate, title, done: `${title} ✓` })
          return { text, isFailure, address: addressOfCreated(write, answer) }
        }
        const where = `${id} ${title}`
        const address = created && `/${created.page}/a%2F7`
        if (created !== undefined) {
          links.add(`${operation} > ${created.page}`)
          t.ok(created.title.length > 0, where)
        }
        if (outcome === undefined) {
          t.strictSame(resultOf(undefined), { text: `${title} ✓`, isFailure: false, address }, where)
          continue
        }
        outcomes++
        const { enum: values = outcome.good.map((one) => (typeof one === 'boolean' ? !one : 'broken')) } =
          withoutNull(outcomeIn(schema, outcome.field)) ?? {}
        for (const good of outcome.good) t.hasStrict(resultOf(good), { isFailure: false, address }, `${where} ${good}`)
        const bad = values.filter((value) => !outcome.good.includes(value as string))
        t.ok(bad.length > 0, `${where} can fail`)
        for (const value of [...bad, 'never-seen']) {
          const { text, isFailure, address: shown } = resultOf(value)
          t.strictSame([isFailure, shown], [true, address], `${where} ${value}`)
          t.ok(text.includes(title), text)
          if (outcome.reason !== undefined) t.ok(text.endsWith('Connection refused'), text)
          if (typeof value !== 'string' || !values.includes(value) || value === 'broken') continue
          const name = outcome.labels?.[value]
          t.ok(
            name !== undefined && text.includes(name),
            `${where}: "${value}" has a name, and the message has it: ${text}`,
          )
        }
      }
    }
  }
  t.ok(outcomes > 40, `${outcomes} outcomes`)
  t.ok(links.size > 15, `${links.size} links`)
  for (const link of expectedLinks) t.ok(links.has(link), link)
})

/** Operations for operators that have no page, each with the reason. */
const withoutPage: Readonly<Record<string, string>> = {
  getAdminIamUsersByIdPersonalData: 'the page of a user exports all of it',
  getAdminInstallExecutionLogs: 'each installation run has its steps',
  getAdminInstallStatus: 'is part of the diagnostics',
  getAdminMoneyAccountsById: 'is part of where its balance comes from',
  getAdminMemberPointsOrderReversals: 'the time line of a payment order reads it',
  getAdminMemberPointsOrderRewards: 'the time line of a payment order reads it',
  getAdminSchedulerTasksByNameRuns: 'the runs of all tasks can be filtered',
  getAdminSystemConfigKeysByKey: 'the list of keys has it',
  getAdminWeb3PaymentSettlementAuditLogsCompensationMetadata: 'the pages have the texts of these values',
  deleteAdminConsoleViewsById: 'the menu of views calls it',
  getAdminWeb3PaymentSettlementReviewLogsByIdAttempts: 'the page of the review has its attempts',
  postAdminStorageUploads: 'the fields for files call it',
  postConsolePageRows: 'the import of a list calls it',
  postNotificationsInboxTokens: 'sites that show the inbox element call it',
  postNotificationsPreferencesLink: 'programs call it; the page of the preferences shows the same',
  putAdminConsoleViews: 'the menu of views calls it',
  putConsoleAttention: 'the overview calls it',
  postAdminWeb3PaymentConfirmationsBatch: 'one order at a time is asked about; many are reviewed',
}

t.test('operators can do everything in the back office that the API allows', async (t) => {
  const shown = JSON.stringify([pages, needs, drawn, builtInPages, [...running.contributions(tiles).values()]])
  const missing = [...(await operationsOf(server)).values()]
    .filter(({ path, id }) => /^\/api\/v1\/(admin|notification)/.test(path) && !id.startsWith('getConsole'))
    .map(({ id }) => id)
    .filter((id) => !shown.includes(`"${id}"`) && withoutPage[id] === undefined)
  t.strictSame(missing, [])
  for (const id of Object.keys(withoutPage)) t.notOk(shown.includes(`"${id}"`), `${id} has a page by now`)
})

/**
 * Members of request bodies that have no form field, by operation. Programs send them, or the form sets them
 * automatically.
 */
const notTyped: Readonly<Record<string, readonly string[]>> = {
  putNotificationsInboxReadAll: ['before'],
  postAdminMemberPointsManualAdjustments: ['idempotencyKey'],
  postAdminWeb3PaymentConfirmationsSettledAudits: ['outTradeNos', 'provider', 'afterId'],
  postAdminWeb3PaymentSettlementReviewLogs: ['reviewFingerprint'],
  putNotificationRulesById: ['code'],
}

t.test('a form has every member that its operation accepts', async (t) => {
  const operations = await operationsOf(server)
  const forms = pages.flatMap((page) =>
    page.kind === 'list' ? [page.create ?? [], page.forms ?? []].flat() : (page.form ?? []),
  )
  t.ok(forms.length > 15)
  const missing = forms.flatMap(({ operation, fields, body = {}, version, preview }) => {
    const typed = fields.map((name) => name.split('.')[0])
    const given = [
      ...typed,
      ...Object.keys(body),
      version,
      typeof preview === 'string' ? preview : undefined,
      'version',
    ]
    const own = [...given, ...(notTyped[operation] ?? [])]
    return Object.keys((operations.get(operation)?.body as { properties?: object } | undefined)?.properties ?? {})
      .filter((name) => !own.includes(name))
      .map((name) => `${operation}: ${name}`)
  })
  t.strictSame(missing, [])
})

t.test('a list that shows who changed a row shows when, too', async (t) => {
  const operations = await operationsOf(server)
  let seen = 0
  for (const page of pages) {
    if (page.kind !== 'list') continue
    const operation = operations.get(page.source)
    const item = operation && itemOf(operation)
    const shown = new Map(page.columns.map(({ field, as }) => [field, as]))
    for (const field of shown.keys()) {
      const moment = field.replace(/By$/, 'At')
      if (moment === field || memberAt(item, moment) === undefined) continue
      seen += 1
      t.equal(shown.get(moment), 'time', `${page.id} ${moment}`)
    }
  }
  t.ok(seen >= 4)
})

t.test('a state is shown by a text, not by its API value', (t) => {
  const columns = pages.flatMap((page) =>
    page.kind === 'list' ? page.columns : page.sections.flatMap((section) => section.columns),
  )
  // HTML and MJML are the same in every language, so this field needs no labels.
  const states = columns
    .flatMap((column) => [column, ...(column.columns ?? [])])
    .filter(({ as, field }) => as === 'status' && field !== 'htmlFormat')
  t.ok(states.length > 30)
  for (const { field, tones = {}, labels = {} } of states)
    t.strictSame(
      Object.keys(tones).filter((value) => labels[value] === undefined),
      [],
      field,
    )
  t.end()
})

t.test('every table on a page exists, and every operation after another one belongs to its page', async (t) => {
  const declared = pages.flatMap(({ id, live }) => (Array.isArray(live) ? live.map((table) => [id, table]) : []))
  const own = builtInPages.flatMap(({ id, live = {} }) =>
    Object.values(live).flatMap((tables) => tables.map((one) => [id, one])),
  )
  t.ok(declared.length >= 20)
  const db = running.service(database)
  for (const [id, table] of [...declared, ...own])
    await t.resolves(db.query(`select 1 from ${table} where 1 = 0`), `${id}: ${table}`)
  for (const { id, source, operations, live = {} } of builtInPages)
    for (const operation of Object.keys(live)) t.ok([source, ...operations].includes(operation), `${id}: ${operation}`)
})

t.test('entries that need attention are counted in the response of their operation, and link to a page', async (t) => {
  const operations = await operationsOf(server)
  const declared = new Map(pages.map((page) => [page.id, page]))
  t.ok(needs.length >= 5)
  t.strictSame(findAttentionProblems(needs, operations, declared), [])
  const { data } = await asRoot('/api/v1/admin/console/attention', 'zh-CN')
  t.equal(data.items.length, needs.length)
  for (const { id, oldest, ...item } of data.items)
    for (const { path, query } of [item, ...(oldest === undefined ? [] : [oldest])])
      t.hasStrict(await asRoot(`${path}?${new URLSearchParams(query)}`), { code: '200' }, id)
  const wrong: readonly (readonly [change: object, problem: RegExp])[] = [
    [{ source: 'getNothing' }, /no loaded plugin provides the operation "getNothing"/],
    [{ source: 'getAdminIamUsersById' }, /is not a GET operation without path parameters/],
    [{ query: { colour: 'red' } }, /"colour" is not a parameter/],
    [{ count: 'nothing' }, /"nothing" is not a member/],
    [{ where: { colour: 'red' } }, /"colour" is not a member of the counted items/],
    [{ filled: 'colour' }, /"colour" is not a member of the counted items/],
    [{ page: { id: 'nowhere' } }, /no page "nowhere"/],
    [{ oldest: { source: 'getAdminIamUsers', at: 'colour' } }, /"colour" is not a time/],
    [{ oldest: { source: 'getNothing', at: 'createdAt' } }, /no loaded plugin provides/],
    [{ place: 'navigation' }, /place "navigation" needs a page/],
    [{ page: { id: 'iam.users', filter: { colour: 'red' } } }, /"colour" is not a filter/],
  ]
  const sound = {
    id: 'probe.users',
    title: { en: 'x', 'zh-CN': 'y' },
    tone: 'bad',
    source: 'getAdminIamUsers',
  } as const
  t.strictSame(findAttentionProblems([sound], operations, declared), [])
  for (const [change, problem] of wrong) {
    const [found = ''] = findAttentionProblems([{ ...sound, ...change }], operations, declared)
    t.match(found, problem)
  }
})

t.test('every chart shows members of its operation or a metric of the product, on an existing page', async (t) => {
  const operations = await operationsOf(server)
  const registry = running.service(metrics)
  const around = {
    operations,
    pages: new Map(pages.map((page) => [page.id, page])),
    hasMetric: (name: string) => registry.getSingleMetric(name) !== undefined,
  }
  t.ok(drawn.length >= 6)
  t.strictSame(findChartProblems(drawn, around), [])
  const onPages = new Set(drawn.flatMap(({ page }) => page ?? []))
  const shown = [
    ...(await asRoot('/api/v1/admin/console/charts')).data.items,
    ...(await Promise.all([...onPages].map((id) => asRoot(`/api/v1/admin/console/pages/${id}`)))).flatMap(
      ({ data }) => data.charts,
    ),
  ]
  t.strictSame(shown.map(({ id }) => id).toSorted(), drawn.map(({ id }) => id).toSorted())
  const queries = drawn.flatMap((chart) => (chart.kind === 'operation' ? [[chart.id, chart.query ?? {}] as const] : []))
  t.ok(queries.some(([, query]) => Object.keys(query).length > 0))
  for (const [declared, query] of queries)
    assertMembers(t, shown.find(({ id }) => id === declared)?.ranges, [{ query }], `${declared} is asked as declared`)
  for (const { id, path, ranges } of shown)
    for (const { query } of ranges)
      t.match(await asRoot(`${path}?${new URLSearchParams(query)}`), { code: /^200$/, data: { items: Array } }, id)
  const sound: ChartDeclaration = {
    kind: 'operation',
    id: 'probe.logins',
    title: { en: 'x', 'zh-CN': 'y' },
    order: 1,
    source: 'getAdminIamLoginAudits',
    at: 'occurredAt',
    lines: [{ field: 'attempts' }],
  }
  t.strictSame(findChartProblems([sound], around), [])
  const counted = { kind: 'measured', metric: 'http_request_duration_seconds', lines: [{ name: 'a' }] }
  const wrong: readonly (readonly [change: object, problem: RegExp])[] = [
    [{ source: 'getNothing' }, /no loaded plugin provides the operation "getNothing"/],
    [{ source: 'getAdminIamUsersById' }, /does not return a list/],
    [{ query: { colour: 'red' } }, /"colour" is not a parameter/],
    [{ at: 'attempts' }, /"attempts" is not a date/],
    [{ by: 'colour' }, /"colour" is not a member/],
    [{ lines: [] }, /it has 0 lines/],
    [{ lines: [{ field: 'method', title: sound.title }] }, /"method" is not a number/],
    [
      { range: true, source: 'getAdminIamRoles', at: 'createdAt', lines: [{ field: 'version' }] },
      /has no parameters "from" and "to"/,
    ],
    [{ currency: 'colour' }, /"colour" is not a member/],
    [{ page: 'nowhere' }, /there is no page "nowhere"/],
    [{ page: 'iam.user' }, /the page "iam.user" needs a path parameter/],
    [{ ...counted, metric: 'nothing_total' }, /no loaded plugin provides the metric "nothing_total"/],
    [{ ...counted, lines: [{ name: 'a' }, { name: 'a' }] }, /two lines have the same name/],
  ]
  for (const [change, problem] of wrong) {
    const problems = findChartProblems([{ ...sound, ...change } as ChartDeclaration], around)
    t.equal(problems.length, 1, String(problem))
    t.match(problems[0], problem)
  }
})

t.test('every tile shows a number of its operation, and opens a page with its filters', async (t) => {
  const operations = await operationsOf(server)
  const declared = [...running.contributions(tiles).values()]
  const around = new Map(pages.map((page) => [page.id, page]))
  t.ok(declared.length >= 8)
  t.strictSame(tileProblems(declared, operations, around), [])
  const shown = (await asRoot('/api/v1/admin/console/charts')).data.tiles
  t.strictSame(
    shown.map(({ id }: { id: string }) => id),
    declared
      .filter(({ page }) => page === undefined)
      .toSorted((a, b) => a.order - b.order)
      .map(({ id }) => id),
  )
  for (const { path, query, field } of shown) {
    const { code, data } = await asRoot(`${path}?${new URLSearchParams(query)}`)
    t.equal(code, '200', path)
    for (const row of data.items ?? data) t.ok(field in row, `${path}: ${field}`)
  }
  const sound = {
    id: 'probe.users',
    title: { en: 'x', 'zh-CN': 'y' },
    order: 1,
    source: 'getAdminIamUserFigures',
    field: 'created',
    range: true,
  } as const
  t.strictSame(tileProblems([sound], operations, around), [])
  const wrong: readonly (readonly [change: object, problem: string])[] = [
    [
      { field: 'state', source: 'getAdminNotificationChannels', range: false, good: ['raedy'] },
      '"raedy" is not a value of "state"',
    ],
    [{ field: 'nothing', good: ['ready'] }, '"nothing" is not a member of the result'],
    [{ source: 'getNothing' }, 'no loaded plugin provides the operation "getNothing"'],
    [
      { source: 'getAdminIamRoles', field: 'version' },
      'it follows the time range, but getAdminIamRoles has no parameters "from" and "to"',
    ],
    [
      { source: 'postAdminIamUsers', field: 'version', range: false },
      'postAdminIamUsers is not a GET operation without path parameters',
    ],
    [{ query: { colour: 'red' } }, '"colour" is not a parameter of getAdminIamUserFigures'],
    [{ field: 'at' }, '"at" is not a number of the result'],
    [{ currency: 'colour' }, '"colour" is not a member of the result'],
    [{ page: 'iam.user' }, 'the page "iam.user" needs a path parameter'],
    [{ opens: { id: 'nowhere' } }, 'there is no page "nowhere"'],
    [{ opens: { id: 'iam.users', filter: { colour: 'red' } } }, '"colour" is not a filter of "iam.users"'],
  ]
  for (const [change, problem] of wrong)
    t.strictSame(tileProblems([{ ...sound, ...change }], operations, around), [`tile "probe.users": ${problem}`])
})

t.test('every sign-in method names public operations, and the page gets their paths', async (t) => {
  const operations = await operationsOf(server)
  const ways = [...running.contributions(signInWays).values()]
  t.strictSame(findSignInProblems(ways, operations), [])
  const post = (path: string) => ({ method: 'POST', path: `/api/v1/auth/${path}` })
  const get = (path: string) => ({ method: 'GET', path: `/api/v1/auth/${path}` })
  t.strictSame(signInViews(ways, operations), [
    {
      id: 'authenticators.passkey',
      kind: 'passkey',
      options: post('passkey/options'),
      login: post('passkey/login'),
    },
    {
      id: 'authenticators.second-factor',
      kind: 'second-factor',
      passkeyOptions: post('second-factor/passkey/options'),
      passkey: post('second-factor/passkey'),
      totp: post('second-factor/totp'),
      recoveryCode: post('second-factor/recovery-code'),
      setUpPasskeyOptions: post('second-factor/set-up/passkey/options'),
      setUpPasskey: post('second-factor/set-up/passkey'),
      setUpTotpOptions: post('second-factor/set-up/totp/options'),
      setUpTotp: post('second-factor/set-up/totp'),
    },
    {
      id: 'iam.recovery',
      kind: 'recovery',
      status: get('recovery'),
      request: post('recovery'),
      complete: post('recovery/complete'),
      email: post('recovery/email'),
    },
    {
      id: 'sign-in-oidc.providers',
      kind: 'providers',
      list: get('oidc/providers'),
      start: post('oidc/{provider}/start'),
      callback: post('oidc/{provider}/callback'),
    },
    {
      id: 'wallet-login.evm',
      kind: 'wallet',
      challenge: post('wallet/challenge'),
      login: post('wallet/login'),
    },
  ])
  const wrong = { id: 'probe', kind: 'wallet', challenge: 'postNothing', login: 'getAdminIamUsers' } as const
  const problems = findSignInProblems([wrong], operations)
  assertMembers(t, problems, [
    /"probe": no loaded plugin provides the operation "postNothing"/,
    /getAdminIamUsers is not a public POST operation/,
    ...['challengeId', 'address', 'signature', 'session'].map(
      (member) => `sign-in "probe": "${member}" is not a member of the body of getAdminIamUsers`,
    ),
  ])
  t.strictSame(signInViews([wrong], operations), [], 'what cannot work is not offered')
})

t.test('every page has its texts in both languages', async (t) => {
  const texts = (value: unknown, path: string): string[] => {
    if (typeof value !== 'object' || value === null) return []
    if ('en' in value && 'zh-CN' in value) {
      const { en, 'zh-CN': zh } = value as { readonly en: string; readonly 'zh-CN': string }
      return en === '' || zh === '' || (en === zh && /[a-z]{4}/i.test(en)) ? [path] : []
    }
    return Object.entries(value).flatMap(([name, inner]) => texts(inner, `${path}.${name}`))
  }
  t.strictSame(
    [...pages, ...needs, ...drawn].flatMap((declared) => texts(declared, declared.id)),
    [],
  )
})

t.test('every page is returned together with its operations, in the language of the request', async (t) => {
  for (const { id } of pages) {
    const english = await asRoot(`/api/v1/admin/console/pages/${id}`)
    t.match(english, { code: /^200$/, data: { id, method: 'GET', path: /^\/api\/v1\//, allowed: true } }, id)
    const chinese = await asRoot(`/api/v1/admin/console/pages/${id}`, 'zh-CN')
    t.not(chinese.data.title, english.data.title, `${id} in Chinese`)
    const titles = JSON.stringify(english.data).match(/"title":"[^"]*"/g) ?? []
    t.notOk(
      titles.find((title) => /:"[a-z]+[A-Z]\w*"/.test(title)),
      `${id}: a member has no title`,
    )
  }
})

t.test('every list operation of the product accepts the requests of its page', async (t) => {
  for (const page of pages) {
    if (page.kind !== 'list') continue
    const { data } = await asRoot(`/api/v1/admin/console/pages/${page.id}`)
    if (data.path.includes('{')) continue
    const sort = page.sort === undefined ? '' : `&sort=${page.sort}`
    const paged = `?${data.isPaged ? 'size=25' : ''}${data.canCount ? '&count=capped' : ''}`
    t.hasStrict(await asRoot(`${data.path}${paged}${sort}`), { code: '200' }, page.id)
  }
})

t.test(
  'users see the pages of operations that their roles allow, and other pages show the missing permission',
  async (t) => {
    const { data } = await asRoot('/api/v1/admin/console/pages')
    const shown = data.groups.flatMap(({ pages }: { pages: { id: string }[] }) => pages.map(({ id }) => id))
    const placed = pages.filter(({ place }) => place !== undefined).map(({ id }) => id)
    t.strictSame(shown.toSorted(), [...placed, ...builtInPages.map(({ id }) => id)].toSorted())

    await running.service(accounts).create({ username: 'nobody', password }, actor)
    const asNobody = await login('nobody')
    const { items } = (await asNobody('/api/v1/admin/console/attention')).data
    for (const { path, query } of items)
      t.hasStrict(await asNobody(`${path}?${new URLSearchParams(query)}`), { code: '200' }, 'nothing is asked in vain')
    const known = await operationsOf(server)
    const open = pages.filter(({ place, source }) => place !== undefined && known.get(source)?.access === 'user')
    const nobody = (await asNobody('/api/v1/admin/console/pages')).data.groups
    t.strictSame(
      nobody.flatMap(({ pages }: { pages: { id: string }[] }) => pages.map(({ id }) => id)).toSorted(),
      [...open.map(({ id }) => id), 'authenticators.security'].toSorted(),
      'pages of operations that are open to every signed-in user',
    )
    const lookups = (await asRoot('/api/v1/admin/console/lookups')).data.items
    const found = lookups.map(({ id }: { id: string }) => id)
    for (const { id, kind, ...page } of pages)
      if (kind === 'list' && 'search' in page)
        t.ok(found.includes(id), `${id}: what can be searched is found by the palette`)
    assertMembers(
      t,
      lookups.find(({ id }: { id: string }) => id === 'iam.users'),
      {
        path: '/api/v1/admin/iam/users',
        key: 'id',
        name: 'username',
        detail: 'iam.user',
        isPaged: true,
        ways: [{ parameter: 'keyword', isSearch: true, schema: { type: 'string' } }],
      },
    )
    for (const { id, path, ways, isPaged, canCount } of lookups)
      for (const { parameter, schema } of ways) {
        const typed = ['42', 'ab', '4bf92f3577b34da6a3ce929d0e0e4736']
        const isTyped = (text: string) =>
          schema.type === 'integer' ? /^\d+$/.test(text) : new RegExp(schema.pattern ?? '^[a-z]', 'u').test(text)
        const query = {
          [parameter]: typed.find(isTyped) ?? '',
          ...(isPaged ? { size: '5' } : {}),
          ...(canCount ? { count: 'none' } : {}),
        }
        t.hasStrict(await asRoot(`${path}?${new URLSearchParams(query)}`), { code: '200' }, `${id} by ${parameter}`)
      }
    for (const { path } of (await asNobody('/api/v1/admin/console/lookups')).data.items)
      t.hasStrict(await asNobody(path), { code: '200' }, 'nothing is looked up in vain')
    t.hasStrict(await asNobody('/api/v1/admin/console/pages/iam.users'), {
      code: '403',
      data: { reason: 'console.permission-missing', permission: 'iam:user:view' },
    })
    t.hasStrict(await asNobody('/api/v1/admin/console/labels?kind=iam.role&search='), { code: '403' })
    t.hasStrict(await asRoot('/api/v1/admin/console/pages/nothing.here'), {
      code: '404',
      data: { reason: 'console.page-unknown' },
    })
    t.hasStrict(await asRoot('/api/v1/admin/console/labels?kind=nothing'), {
      code: '404',
      data: { reason: 'console.labels-unknown' },
    })
    const anonymous = await server.inject({ url: '/api/v1/admin/console/pages' })
    t.hasStrict(anonymous.json(), { code: '401' })
  },
)

t.test('a custom page is told which of its operations exist and which the user may call', async (t) => {
  const operations = await operationsOf(server)
  const declared = new Set(pages.map(({ id }) => id))
  t.strictSame(findCustomPageProblems(operations, declared), [])
  for (const page of builtInPages) {
    const { id, source, operations: others, parts = {} } = page
    const isOpen = operations.get(source)?.access === 'user'
    const { data } = await asRoot(`/api/v1/admin/console/pages/${id}`)
    t.match(data, { id, kind: 'own' })
    t.strictSame(Object.keys(data.operations).toSorted(), operationIdsOf(page).toSorted(), id)
    for (const operation of Object.values(data.operations))
      t.match(operation, { allowed: true, path: /^\/api\/v1\// }, id)
    t.not((await asRoot(`/api/v1/admin/console/pages/${id}`, 'zh-CN')).data.title, data.title, id)
    const asNobody = await login('nobody')
    t.hasStrict(await asNobody(`/api/v1/admin/console/pages/${id}`), { code: isOpen ? '200' : '403' }, id)
    const left = new Map([...operations].filter(([name]) => name !== others[0]))
    t.equal(
      findCustomPageProblems(left, new Set([id])).length,
      others.length === 0 ? 1 : 2,
      `${id}: one missing, one twice`,
    )
    for (const name of [source, ...Object.keys(parts)]) left.delete(name)
    // Another page may call the same operation and also report that it is missing, so only the problems of this page
    // are compared.
    const own = findCustomPageProblems(left, new Set([id])).filter((problem) => problem.startsWith(`page "${id}"`))
    t.strictSame(own, [], `${id}: its plugin is left out`)
    // A product with only a part of the page has the page too.
    for (const name of Object.keys(parts)) {
      const only = new Map([...operations].filter(([one]) => one !== source))
      t.equal(sourceOf(page, only), name, `${id}: ${name}`)
    }
  }
})

t.test('objects are shown by name, and can be found by name', async (t) => {
  const found = await asRoot('/api/v1/admin/console/labels?kind=iam.user&search=roo')
  assertMembers(t, found.data.items, [{ name: 'root' }])
  const named = await asRoot(`/api/v1/admin/console/labels?kind=iam.user&ids=${found.data.items[0].id}`)
  t.strictSame(named.data.items, found.data.items)
  const actors = await asRoot('/api/v1/admin/console/labels?kind=iam.actor&search=roo')
  const actor = { id: `user:${found.data.items[0].id}`, name: 'root' }
  t.strictSame(actors.data.items, [actor, { id: 'roo', name: 'roo' }], 'what acts by itself has the name that is typed')
  const acted = await asRoot(`/api/v1/admin/console/labels?kind=iam.actor&ids=${actor.id}&ids=cli&ids=user:1`)
  t.strictSame(acted.data.items, [actor, { id: 'cli', name: 'cli' }])
  const grant = { owner: { type: 'user', id: '1' }, asset: 'points:mall', amount: 1, key: 'labels', kind: 'test.grant' }
  await running.service(ledger).credit(grant)
  const { items } = (await asRoot('/api/v1/admin/console/labels?kind=money.account&search=')).data
  const names = items.map(({ name }: { readonly name: string }) => name)
  t.strictSame(names.toSorted(), ['Points', 'System account issued · Points'])
  const permissions = await asRoot('/api/v1/admin/console/labels?kind=iam.permission&search=IAM:user:v', 'zh-CN')
  assertMembers(t, permissions.data.items, [{ id: 'iam:user:view', name: /iam:user:view/ }])
  for (const kind of kinds.keys()) {
    t.hasStrict(await asRoot(`/api/v1/admin/console/labels?kind=${kind}&search=`), { code: '200' }, kind)
    t.hasStrict(await asRoot(`/api/v1/admin/console/labels?kind=${kind}&ids=1&ids=none`), { code: '200' }, kind)
  }
})

t.test('a user is found by name, e-mail address and mobile number', async (t) => {
  const reachable = { username: 'reachable', password, email: 'ada@acme.example', mobile: '+8613900139000' }
  await running.service(accounts).create(reachable, actor)
  for (const search of ['achab', 'da@acme', '900139']) {
    const { data } = await asRoot(`/api/v1/admin/console/labels?kind=iam.user&search=${search}`)
    assertMembers(t, data.items, [{ name: 'reachable' }], search)
  }
})

t.test(
  'a configuration key is shown by its title, and links to the config centre for users who may open it',
  async (t) => {
    const page = pages.find(({ id }) => id === 'notification.channels')
    if (page === undefined) throw new Error('the page of channels is gone')
    const { data } = await asRoot('/api/v1/admin/console/pages/notification.channels')
    const kindIn = ({ columns }: { readonly columns: readonly { readonly field: string; readonly of?: object }[] }) =>
      columns.find(({ field }) => field === 'missingKeys')?.of
    const labels = 'console.config-key'
    t.strictSame(kindIn(data), { labels, page: 'system-config.centre', opens: ['q', 'key'] })
    const other = {
      locale: 'en',
      can: () => true,
      sees: () => false,
      page: () => undefined,
      created: () => undefined,
      hasLabels: () => true,
    }
    const shown = pageView(page, await operationsOf(server), other) as unknown as Parameters<typeof kindIn>[0]
    t.strictSame(kindIn(shown), { labels }, 'nothing leads where this reader is refused')
    const titleIn = async (language: string) =>
      (await asRoot(`/api/v1/admin/console/labels?kind=${labels}&ids=platform.mail.smtp.host`, language)).data.items
    t.strictSame(await titleIn('en'), [{ id: 'platform.mail.smtp.host', name: 'SMTP server' }])
    t.strictSame(await titleIn('zh-CN'), [{ id: 'platform.mail.smtp.host', name: 'SMTP 服务器' }])
  },
)

/** A schema with the parts that a form shows: its members, and the members of its items. */
interface Worded {
  readonly description?: string
  readonly properties?: Readonly<Record<string, Worded>>
  readonly items?: Worded
}

/** Returns the help texts of a field and of its parts, by path. */
function helpsOf(
  path: string,
  { description, properties = {}, items }: Worded,
): readonly (readonly [string, string])[] {
  const own = description === undefined ? [] : [[path, description] as const]
  const members = Object.entries(properties).flatMap(([name, part]) => helpsOf(`${path}.${name}`, part))
  return [...own, ...members, ...(items === undefined ? [] : helpsOf(`${path}[]`, items))]
}

t.test('each field that the API explains has a help text in both languages', async (t) => {
  const operations = await operationsOf(server)
  const helps = new Map<string, ReadonlyMap<string, string>>()
  for (const language of ['en', 'zh-CN']) {
    const shown: (readonly [string, string])[] = []
    for (const { id } of pages) {
      const { data } = await asRoot(`/api/v1/admin/console/pages/${id}`, language)
      const asking = [data.create, data.form, ...(data.forms ?? []), ...(data.actions ?? []), ...(data.bulk ?? [])]
      for (const { operation, fields, ask } of asking.filter(Boolean)) {
        for (const { name, description, schema } of fields ?? ask ?? [])
          shown.push(...helpsOf(`${operation} ${name}`, { ...schema, description }))
      }
    }
    helps.set(language, new Map(shown))
  }
  const [english, chinese] = [helps.get('en') ?? new Map(), helps.get('zh-CN') ?? new Map()]
  t.ok(english.size > 60, `${english.size} help texts`)
  t.strictSame([...chinese.keys()].sort(), [...english.keys()].sort())
  t.strictSame(
    [...chinese].filter(([, text]) => !/\p{Script=Han}/u.test(text)),
    [],
    'the Chinese page shows no English help',
  )
  t.strictSame(
    [...english].filter(([, text]) => /\p{Script=Han}/u.test(text)),
    [],
    'the English page shows no Chinese help',
  )
  const silent = pages.flatMap((page) => {
    const forms = page.kind === 'list' ? [page.create, ...(page.forms ?? [])] : [page.form]
    return forms.flatMap((form) =>
      (form?.fields ?? []).flatMap((name) => {
        const path = `${form?.operation} ${name}`
        const isExplained = memberAt(operations.get(form?.operation ?? '')?.body, name)?.description !== undefined
        return isExplained && !english.has(path) ? [path] : []
      }),
    )
  })
  t.strictSame(silent, [], 'add the field below "helps" to the messages of its plugin, in both languages')
})

t.test('each error in the declaration of a page is found', async (t) => {
  const operations = await operationsOf(server)
  const ends = { operation: 'deleteAdminIamUsersByIdSessions', params: { id: { field: 'id' } } }
  const confirmed = (confirm: LocalizedText) => ({
    actions: [{ operation: 'getAdminIamUsersById', params: { id: { field: 'id' } }, confirm }],
  })
  const wrong: readonly (readonly [change: object, ...problems: RegExp[]])[] = [
    [{ source: 'getNothing' }, /no loaded plugin provides the operation "getNothing"/],
    [{ key: 'uuid' }, /key "uuid" is not a member/],
    [{ columns: [{ field: 'nick', as: 'text' }] }, /"nick" is not a member of the result/],
    [{ columns: [{ field: 'enabled', as: 'time' }] }, /"enabled" cannot be shown as time/],
    [
      { columns: [{ field: 'id', as: 'reference', of: { labels: 'x' } }] },
      /no loaded plugin provides labels of kind "x"/,
    ],
    [
      { columns: [{ field: 'id', as: 'reference', of: { labels: 'iam.user', page: 'console.plugins' } }] },
      /"console.plugins" is not a detail page/,
    ],
    [{ search: 'words' }, /"words" is not a parameter/],
    [{ filters: [{ name: 'colour' }] }, /"colour" is not a parameter/],
    [{ find: ['sort'] }, /"find" lists "sort", which is neither the search nor a filter/],
    [{ sort: '-mobile' }, /does not sort by "-mobile"/],
    [{ detail: 'iam.users' }, /"iam.users" is not a detail page/],
    [
      { actions: [{ operation: 'deleteAdminIamUsersById', params: {} }] },
      /the path parameter "id" of deleteAdminIamUsersById is missing/,
      /the version is not sent to deleteAdminIamUsersById/,
    ],
    [
      { actions: [{ operation: 'deleteAdminIamUsersById', params: { id: { field: 'id' } } }] },
      /the version is not sent to deleteAdminIamUsersById/,
    ],
    [
      { actions: [{ operation: 'deleteAdminIamUsersById', params: { id: { list: ['nick'] } } }] },
      /"nick" is not a member of the result/,
      /the version is not sent to deleteAdminIamUsersById/,
    ],
    [{ actions: [{ ...ends, undo: 'postNothing' }] }, /"postNothing" is not an operation of an action of this page/],
    [
      { actions: [{ ...ends, undo: ends.operation, type: 'username' }] },
      /deleteAdminIamUsersByIdSessions needs a dialog, so it has no undo/,
    ],
    [{ actions: [{ operation: 'postNothing', params: {} }] }, /no loaded plugin provides the operation "postNothing"/],
    [
      { actions: [{ operation: 'putAdminIamUsersByIdPassword', params: { id: { field: 'id' } } }] },
      /"password" is missing, which the body of putAdminIamUsersByIdPassword requires/,
    ],
    [
      { create: { operation: 'postAdminIamUsers', fields: ['username', 'nick'] } },
      /"nick" is not a member of the body/,
      /"password" is missing, which the body of postAdminIamUsers requires/,
    ],
    [{ columns: [{ field: 'email', as: 'rows', columns: [] }] }, /"email" cannot be shown as rows/],
    [{ columns: [{ field: 'email', as: 'text', opens: { base: 'site', path: 'x' } }] }, /"site" is not a member/],
    [
      { columns: [{ field: 'roles', as: 'rows', columns: [{ field: 'nick', as: 'text' }] }] },
      /"nick" is not a member of the result/,
    ],
    [
      {
        create: {
          operation: 'postAdminIamRoles',
          fields: ['code', 'name', 'permissions'],
          answer: [{ field: 'nick', as: 'text' }],
        },
      },
      /"nick" is not a member of the result/,
    ],
    [{ bulk: [{ operation: 'postAdminIamUsers', ids: 'username' }] }, /"username" is not a list/],
    [confirmed('{username} is ended.'), /"confirm" contains {username}: placeholders have two braces, {{username}}/],
    [confirmed({ en: '{{username}} is ended.', 'zh-CN': '{{nick}}' }), /"nick" in "confirm" is not a member/],
    ...(
      [
        [{ operation: 'postNothing' }, /no loaded plugin provides the operation "postNothing"/],
        [{ takes: ['subject', 'words'] }, /"words" is not a member of the body/, /"words" is not a field of the form/],
        [{ takes: ['variables'] }, /"variables" is not a field of the form/],
        [{ samples: { into: 'values', of: 'variables' } }, /"values" is not a member of the body/],
        [{ samples: { into: 'variables', of: 'subject' } }, /"subject" is not a list in the result/],
        [{ columns: [{ field: 'variables', as: 'html' }] }, /"variables" cannot be shown as html/],
      ] as const
    ).map(([change, ...problems]) => {
      const create = (pages.find(({ id }) => id === 'template.templates') as ListPageDeclaration).create
      return [{ create: { ...create, livePreview: { ...create?.livePreview, ...change } } }, ...problems] as const
    }),
  ]
  const users = running.contributions(adminPages).get('iam.users') as PageDeclaration
  const plain = { ...users, actions: [], create: undefined }
  for (const [change, ...problems] of wrong) {
    const page = JSON.parse(JSON.stringify({ ...plain, ...change, id: 'x.y' })) as PageDeclaration
    assertMembers(t, findPageProblems([...pages, page], operations, kinds), problems, String(problems[0]))
  }
})

t.test('the documents name places and pages as the navigation shows them', async (t) => {
  const root = join(import.meta.dirname, '../..')
  for (const language of ['en', 'zh-CN']) {
    const { data } = await asRoot('/api/v1/admin/console/pages', language)
    const places: readonly { readonly title: string; readonly pages: readonly { readonly title: string }[] }[] =
      data.groups
    const paths = new Set(places.flatMap(({ title, pages }) => pages.map((page) => `${title} > ${page.title}`)))
    const folder = language === 'en' ? 'docs' : 'docs/zh-CN'
    const files = globSync(`${folder}/**/*.md`, {
      cwd: root,
      exclude: language === 'en' ? ['docs/zh-CN/**', 'docs/reference/**'] : [],
    })
    const named = files.flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8')
        .replaceAll(/<!--.*?-->/gs, '')
        .replaceAll('\n', ' ')
      return [...text.matchAll(/(?<!\*)\*([^*>`]+ > [^*>`]+?)(?: > [^*`]+)?\*(?!\*)/g)].map(
        ([, path = '']) => `${file}: ${path}`,
      )
    })
    const isKnown = (line: string) => paths.has(line.slice(line.indexOf(': ') + 2)) || line.endsWith('Dashboards > New')
    t.ok(named.length > 15)
    t.strictSame(
      named.filter((line) => !isKnown(line)),
      [],
    )
  }
})

t.test('a form names the values of a member like the page that shows them', async (t) => {
  const finality = (fields: readonly { readonly name: string }[]) => fields.find(({ name }) => name === 'finality')
  const { data: list } = await asRoot('/api/v1/admin/console/pages/web3.chains', 'zh-CN')
  t.match(finality(list.create.fields), { labels: { depth: '按区块深度' } })
  const { data: one } = await asRoot('/api/v1/admin/console/pages/web3.chain')
  t.match(finality(one.form.fields), { labels: { depth: 'By block depth', safe: 'Safe' } })
})

t.test('the address of a page returns the page, and its files are served', async (t) => {
  t.match((await server.inject('/admin')).headers, { location: '/admin/' })
  const page = await server.inject({ url: '/admin/iam.user/1', headers: { accept: 'text/html' } })
  t.match(page, {
    statusCode: 200,
    headers: { 'cache-control': 'no-store', 'content-security-policy': /script-src 'self' 'nonce-/ },
  })
  t.match((await server.inject('/admin/assets/nothing.js')).statusCode, 404)
})

t.test('without the back office the pages of plugins cost nothing', async (t) => {
  const without = { ...product, plugins: product.plugins.filter(({ id }) => id !== 'console.admin') }
  const started = await startForTest(without, {
    set: {
      'platform.http.port': '0',
      // On a busy host the load shedder would otherwise reject requests.
      'platform.http.overload.max-wait': '1m',
      'platform.database.sqlite.file': join(t.testdir(), 'plinth.sqlite'),
    },
  })
  t.teardown(() => started.stop('test ended'))
  t.match((await started.service(http).inject('/admin/')).statusCode, 404)
})
