import { labelSources } from '@plinth/admin'
import { database } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import { createDatabase, dialectsUnderTest } from '@plinth/dev/testing/database'
import { http } from '@plinth/http'
import { accounts, type DataScope, identity } from '@plinth/iam'
import type { JsonValue, Product } from '@plinth/kernel'
import t, { type Test } from 'tap'
import product from '../examples/quickstart/plinth.config.ts'
import {
  fillMarked,
  type MarkedRows,
  markedUser,
  operatorsOrg,
  ownOrgRowMarker,
  rowMarker,
  stateOf,
} from './data-scope/marked-rows.ts'
import {
  harmlessOperations,
  type Names,
  type Operation,
  permissionOperations,
  requestsFor,
} from './data-scope/requests.ts'
import { dataDirectory } from './fixtures/product-process.ts'

const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: '' }
const attempt = { ...origin, method: 'test', identifier: 'test', setHeader() {} }

/**
 * Starts the quickstart without scheduled tasks. A user of another organisation has rows in every table. These rows
 * contain a marker text, which the test searches in responses.
 */
async function startFilled(t: Test, config: Readonly<Record<string, JsonValue>>) {
  const root = await dataDirectory(t.teardown)
  const settings = {
    'platform.http.port': 0,
    'platform.install.installed': true,
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': 1,
    'platform.rate-limit.enabled': false,
    'platform.mail.driver': 'none',
    ...config,
  }
  const filled = { ...product, root, config: { ...product.config, ...settings } } as Product
  const running = await startForTest(filled, { roles: ['web'] })
  t.teardown(() => running.stop('test ended'))
  const server = running.service(http)
  const db = running.service(database)
  const people = running.service(accounts)
  const tokenOf = async (id: number) => (await running.service(identity).openSession(id, attempt)).accessToken
  const administrator = await people.createSuperAdministrator(
    { username: `${rowMarker}-root`, password: 'Correct-horse-7' },
    origin,
  )
  const rootToken = await tokenOf(administrator.id)

  /** Sends a request and returns the whole response, which is a file or an envelope. */
  const send = async (method: string, url: string, token: string, payload?: object) => {
    const body = payload === undefined ? {} : { payload }
    const headers = { authorization: `Bearer ${token}` }
    const response = await server.inject({ method: method as 'GET', url, headers, ...body })
    const { code = String(response.statusCode) } = isJson(response.headers) ? response.json() : {}
    return { code: String(code), text: response.body }
  }
  const ask = async (method: string, url: string, payload?: object) => {
    const { code, text } = await send(method, url, rootToken, payload)
    if (code !== '200') throw new Error(`${method} ${url}: ${text}`)
    return JSON.parse(text).data
  }
  const codes = (await ask('GET', '/api/v1/admin/iam/permissions')).map(({ code }: { code: string }) => code)
  const roleOf = async (code: string, dataScope: DataScope, permissions: readonly string[]): Promise<number> =>
    (await ask('POST', '/api/v1/admin/iam/roles', { code, name: code, dataScope, permissions })).id
  const operator = async (scope: DataScope, orgId = operatorsOrg) => {
    const name = `operator-${scope}-${orgId}`
    const role = await roleOf(name, scope, codes)
    const user = { username: name, password: 'Correct-horse-7', orgId, roleIds: [role] }
    return tokenOf((await people.create(user, origin)).id)
  }
  /** Creates an API token with this data scope and all permissions, of the user of a session. */
  const apiToken = async (session: string, dataScope: DataScope): Promise<string> => {
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
    const body = { name: dataScope, expiresAt, dataScope, permissions: codes }
    const { code, text } = await send('POST', '/api/v1/iam/users/me/api-tokens', session, body)
    if (code !== '200') throw new Error(text)
    return JSON.parse(text).data.token
  }
  const roleId = await roleOf('foreign', 'self', [])
  const { id: userId } = await people.create({ ...markedUser, roleIds: [roleId] }, origin)
  const mate = { username: `${ownOrgRowMarker}-user`, password: 'Correct-horse-8', orgId: operatorsOrg }
  const { id: mateId } = await people.create(mate, origin)
  const rows = await fillMarked(db, { userId, mark: rowMarker })
  const ownRows = await fillMarked(db, { userId: mateId, mark: ownOrgRowMarker })
  // An operator with the data scope `none` changes rows that belong to no organisation.
  const template = { code: 'changed.abroad', channel: 'inbox', locale: 'en', subject: 's', content: 'c' }
  await ask('POST', '/api/v1/admin/templates', template)
  await ask('POST', '/api/v1/admin/web3/chains', { name: 'abroad', chainId: 424242 })
  const changes = [{ key: 'platform.site.name', action: 'set', value: 'Shop' }]
  await ask('POST', '/api/v1/admin/system-config/changes', { changes, reason: 'test' })
  await ask('POST', '/api/v1/admin/member-points/rules', { code: 'abroad', type: 'task', config: { points: 1 } })
  const idIn = (filled: MarkedRows) => (entity: string) => {
    const row = filled.get(entity)
    if (row === undefined) throw new Error(`There is no marked row of ${entity}`)
    return Number(row.key.value)
  }
  const users = [
    { entity: 'IamUser', table: 'iam_user', key: { column: 'id', value: userId } },
    { entity: 'IamUserRole', table: 'iam_user_role', key: { column: 'user_id', value: userId } },
    { entity: 'IamRole', table: 'iam_role', key: { column: 'id', value: roleId } },
  ]
  const state = () => stateOf(db, [...rows.values(), ...users])
  const names: Names = { userId, roleId, mark: rowMarker, idOf: idIn(rows) }
  const ownNames: Names = { userId: mateId, roleId, mark: ownOrgRowMarker, idOf: idIn(ownRows) }
  const ids = [...rows.values()].map(({ key }) => String(key.value)).filter((id) => !id.includes(rowMarker))
  return {
    rootId: administrator.id,
    running,
    operations: permissionOperations(await server.openapi()),
    operator,
    apiToken,
    send,
    state,
    names,
    ownNames,
    ids,
  }
}

const isJson = (headers: Readonly<Record<string, unknown>>) => /json/.test(String(headers['content-type']))
const nameOf = ({ method, path }: Pick<Operation, 'method' | 'path'>) => `${method} ${path}`

const readsOf = (operations: readonly Operation[]) => operations.filter(({ method }) => method === 'GET')

/**
 * Operations with the data scope `caller` whose responses do not contain the marker. They return only numbers, or only
 * rows that belong to the whole product.
 */
const withoutMarker: readonly string[] = [
  'GET /api/v1/admin/iam/users/{id}/personal-data',
  'GET /api/v1/admin/money/accounts/{id}/explain',
  'GET /api/v1/notification-send-logs/summary',
  'GET /api/v1/admin/iam/user-figures',
  'GET /api/v1/admin/notification/send-figures',
  'GET /api/v1/notification-rules/ops-summary',
  'GET /api/v1/admin/web3/payment-settlement-audit-logs/summary',
  'GET /api/v1/admin/notification/channels',
  'GET /api/v1/admin/notification/channels/{code}',
]

/** Operations that write with the data scope `none`: they change nothing, or only a new file of the caller. */
const harmlessWrites: readonly string[] = [
  'POST /api/v1/admin/digests/definitions/{id}/preview',
  'POST /api/v1/admin/notification/channels/{code}/verify',
  'POST /api/v1/admin/oidc/providers/{id}/test',
  'POST /api/v1/admin/storage/uploads',
  'POST /api/v1/admin/system-config/changes/preview',
  'POST /api/v1/admin/templates/preview',
  'POST /api/v1/notifications/template-preview',
]

for (const { dialect, skip } of dialectsUnderTest) {
  const title = `no operator reads or changes rows outside the data scope (${dialect})`
  t.test(title, { skip, timeout: 900_000 }, async (t) => {
    const db = await createDatabase(dialect)
    t.teardown(() => db.drop())
    const filled = await startFilled(t, db.config)
    const { rootId, running, operations, operator, apiToken, send, state, names, ownNames, ids } = filled
    const undeclared = operations.filter((operation) => operation['x-data-scope'] === undefined).map(nameOf)
    t.same(undeclared, [], 'every operation declares its scope')
    const open = operations.filter(({ method, ...one }) => method !== 'GET' && one['x-data-scope'] === 'none')
    t.strictSame(open.map(nameOf).toSorted(), harmlessWrites, 'changes of shared things need the scope all')

    const before = await state()
    const leaks: string[] = []
    const wrong: string[] = []
    let requests = 0
    const marks = [rowMarker, String(names.userId), String(rootId), ...ids]
    const [all, org, self] = [await operator('all'), await operator('org'), await operator('self')]
    // The owners of these API tokens may reach all rows, so only the tokens restrict the requests. Each owner has its own
    // organisation, because the audit of the other callers contains the ids that they have sent.
    const owners = [await operator('all', operatorsOrg + 1), await operator('all', operatorsOrg + 2)] as const
    const callers = {
      org,
      self,
      'API token with org': await apiToken(owners[0], 'org'),
      'API token with self': await apiToken(owners[1], 'self'),
    }
    for (const [scope, token] of Object.entries(callers)) {
      for (const operation of operations) {
        for (const { url, payload } of requestsFor(operation, names)) {
          requests++
          const { code, text } = await send(operation.method, url, token, payload)
          const about = `${scope}: ${operation.method} ${url} -> ${code}`
          const shows = marks.some((mark) => text.includes(mark)) && !harmlessOperations.includes(nameOf(operation))
          if ((code === '200' && shows) || (text.includes(rowMarker) && !isEcho(text, payload)))
            leaks.push(`${about} ${text.slice(0, 300)}`)
          if (code === '500') wrong.push(about)
          const isRejected = code === '403' || code === '404'
          const isNaming = operation.method !== 'GET' && !harmlessOperations.includes(nameOf(operation))
          if (operation['x-data-scope'] === 'all' && code !== '403') wrong.push(about)
          if (operation['x-data-scope'] === 'caller' && isNaming && !isRejected)
            wrong.push(`${about} ${text.slice(0, 200)}`)
        }
      }
      for (const [kind] of running.contributions(labelSources)) {
        const named = [...ids, `user:${names.userId}`].map((id) => ['ids', id] as [string, string])
        for (const query of [named, [['search', rowMarker]], [['search', '']]] as [string, string][][]) {
          requests++
          const url = `/api/v1/admin/console/labels?${new URLSearchParams([['kind', kind], ...query])}`
          const { text } = await send('GET', url, token)
          // A response may repeat the search text, which contains the marker.
          const echoes = kind === 'iam.actor' && query[0]?.[0] === 'search'
          if (text.includes(rowMarker) && !echoes) leaks.push(`${scope}: labels of ${kind} ${text.slice(0, 300)}`)
        }
      }
      for (const path of ['', `/${names.idOf('AsyncTask')}`, `/${names.idOf('AsyncTask')}/download-url`]) {
        requests++
        const { text } = await send('GET', `/api/v1/async-tasks${path}`, token)
        if (text.includes(rowMarker)) leaks.push(`${scope}: async-tasks${path} ${text.slice(0, 300)}`)
      }
    }
    const after = await state()
    const changes = [...before].filter(([entity, row]) => after.get(entity) !== row).map(([entity]) => entity)
    t.same(leaks, [], 'no answer holds the marker')
    t.same(wrong, [], 'what names rows out of scope is refused')
    t.same(changes, [], 'no foreign row is changed')
    t.comment(
      `${operations.length} operations, ${requests} requests, ${leaks.length} leaks, ${changes.length} foreign changes`,
    )

    const unseenBy = async (token: string, expected: Names, marks: readonly string[]) => {
      const unseen: string[] = []
      for (const operation of readsOf(operations)) {
        if (operation['x-data-scope'] !== 'caller' || withoutMarker.includes(nameOf(operation))) continue
        const responses = []
        for (const { url } of requestsFor(operation, expected)) responses.push((await send('GET', url, token)).text)
        if (responses.some((text) => marks.some((mark) => text.includes(mark)))) continue
        unseen.push(`${nameOf(operation)} ${responses[0]?.slice(0, 300)}`)
      }
      return unseen
    }
    const unseen = await unseenBy(all, names, marks)
    t.same(unseen, [], 'each operation that reads rows of the caller has a marked row to show to scope "all"')
    const ownMarks = [ownOrgRowMarker, String(ownNames.userId), String(ownNames.idOf('MoneyAccount'))]
    const unseenMate = await unseenBy(org, ownNames, ownMarks)
    t.same(unseenMate, [], 'an operator sees the rows of a user of the same organisation')
    const unseenByToken = await unseenBy(await apiToken(all, 'org'), ownNames, ownMarks)
    t.same(unseenByToken, [], 'and so does an API token')
  })
}

/** True if the response only repeats a value of the request. This reveals nothing. */
function isEcho(text: string, payload: object | undefined): boolean {
  if (payload === undefined) return /"code":"40[0-9]"/.test(text)
  return JSON.stringify(payload).includes(rowMarker) && /"code":"4/.test(text)
}
