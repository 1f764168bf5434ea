/** Names and pages that follow from a resource. */
import { adminPages, type ListPageDeclaration } from '@plinth/admin'
import { assertMembers } from '@plinth/dev/testing'
import { onSqlite } from '@plinth/dev/testing/database'
import { events } from '@plinth/events'
import { http, Type } from '@plinth/http'
import type { Operator } from '@plinth/iam'
import { bilingual, defineBusinessErrors, key } from '@plinth/kernel'
import { defineResourcePlugin, permission, pluginWith } from '@plinth/resource'
import { c, table } from '@plinth/table'
import t, { type Test } from 'tap'
import type { TObject } from 'typebox'
import { contactSaved, contacts, Team } from './fixtures/contacts.ts'
import { outcomeOf, path, startContacts } from './fixtures/product.ts'

onSqlite(t, 'paths, operations, reasons and permissions follow the rules', async (t: Test, db) => {
  const { running, lines, root, nobody } = await startContacts(t, db, { hasConsole: true })
  const routes = running.service(http).routes.filter(({ path }) => path.startsWith('/api/v1/admin/acme/contacts'))
  t.same(
    routes
      .map(({ method, path, operationId, summary }) => [
        method,
        path.slice('/api/v1/admin/acme/contact'.length),
        operationId.replace('AdminAcmeContacts', ''),
        summary,
      ])
      .sort(),
    [
      ['DELETE', 's/:id', 'deleteById', 'Delete a contact'],
      ['GET', 's', 'get', 'List contacts'],
      ['GET', 's/:id', 'getById', 'Get a contact'],
      ['POST', 's', 'post', 'Create a contact'],
      ['POST', 's/:id/disable', 'postByIdDisable', 'Disable a contact'],
      ['POST', 's/:id/move-stage', 'postByIdMoveStage', 'Move a contact'],
      ['POST', 's/delete-batch', 'postDeleteBatch', 'Delete several contacts'],
      ['POST', 's/import', 'postImport', 'Create several contacts, or only check them'],
      ['PUT', 's/:id', 'putById', 'Change a contact; omitted fields do not change'],
    ],
  )
  const api = await running.service(http).openapi()
  t.match(
    JSON.stringify(api.paths[path]),
    /acme-contacts\.email-taken.*acme\.busy|acme\.busy.*acme-contacts\.email-taken/,
  )
  t.same(
    contacts.permissions.map(({ code }) => code),
    ['acme:contact:view', 'acme:contact:save'],
  )
  t.equal(contacts.businessErrors.area, 'acme-contacts')
  t.same(contacts.businessErrors.codes, {
    'not-found': '404',
    'version-conflict': '409',
    'email-taken': '409',
    'code-taken': '409',
  })
  t.equal((await nobody('GET', '/api/v1/acme/by-hand')).data, true)
  const zh = { 'accept-language': 'zh-CN' }
  t.match(await root('GET', `${path}/7`, undefined, zh), { message: '没有编号为 7 的联系人。' })
  t.match(await root('GET', '/api/v1/admin/acme/boards/7'), { message: 'No board 7.' }, 'a text of the plugin wins')
  t.equal(outcomeOf(await root('GET', '/api/v1/admin/acme/boards/7')), '404 acme-boards.unknown')

  await t.test('the pages show the columns, and the console accepts them', async (t) => {
    t.same(
      lines.filter((line) => line.includes('PLINTH_CONSOLE_PAGE')).map((line) => JSON.parse(line).msg),
      [],
    )
    const list = running.contributions(adminPages).get('acme-contacts.contacts')
    if (list?.kind !== 'list') throw new Error('no list page')
    t.same(
      list.columns.map(({ field, as, hidden = false }) => [field, as, hidden]),
      [
        ['ownerId', 'reference', false],
        ['name', 'text', false],
        ['email', 'text', false],
        ['code', 'text', false],
        ['stage', 'status', false],
        ['enabled', 'flag', false],
        ['about', 'text', true],
        ['salary', 'count', false],
        ['meetsAt', 'time', false],
        ['tags', 'json', true],
        ['createdAt', 'time', false],
        ['updatedAt', 'time', true],
        ['updatedBy', 'text', true],
        ['length', 'count', false],
        ['neighbours', 'count', false],
      ],
    )
    assertMembers(t, list, {
      title: { en: 'Contacts', 'zh-CN': '联系人' },
      search: 'keyword',
      detail: 'acme-contacts.contact',
      live: ['acme_contact'],
      create: { operation: 'postAdminAcmeContacts', long: ['about'], options: { ownerId: { labels: 'iam.user' } } },
      actions: [
        {
          operation: 'postAdminAcmeContactsByIdDisable',
          when: { enabled: [true] },
          body: { version: { field: 'version' } },
        },
        { operation: 'postAdminAcmeContactsByIdMoveStage', ask: ['stage', 'note'] },
        { operation: 'deleteAdminAcmeContactsById', query: { version: { field: 'version' } }, tone: 'danger' },
      ],
      bulk: [{ operation: 'postAdminAcmeContactsDeleteBatch' }],
    })
    t.same(
      list.filters?.map(({ name }) => name),
      ['enabled', 'ownerId', 'stage', 'email'],
    )
    const detail = running.contributions(adminPages).get('acme-contacts.contact')
    t.match(detail, {
      kind: 'detail',
      name: 'name',
      form: { operation: 'putAdminAcmeContactsById', version: 'version' },
    })
    t.notOk(running.contributions(adminPages).has('acme-topics.topic'), 'no page of one row without the operation')
    for (const locale of ['en', 'zh-CN']) {
      const page = await root('GET', '/api/v1/admin/console/pages/acme-contacts.contacts', undefined, {
        'accept-language': locale,
      })
      t.equal(page.code, '200', page.text)
      t.match(page.text, locale === 'en' ? /Agent/ : /负责人/)
    }
  })
})

t.test('an operation about the rows of a user needs an owner', async (t) => {
  const Shared = table('acme_shared', { id: c.id() }, { title: { one: ['A', '甲'], many: ['B', '乙'] }, owner: 'none' })
  const { resource } = pluginWith()
  const base = { area: 'acme', path: '/api/v1/acme' }
  t.throws(
    () => resource(Shared, { ...base, list: { access: 'user' } }),
    /acme_shared: the operation "list" is about the rows of a user/,
  )
})

t.test('the input of an action has the titles, units and pickers of the columns', async (t) => {
  const Order = table(
    'acme_order',
    {
      id: c.id(),
      clerkId: c.reference('iam.user').title('Clerk', '店员'),
      price: c.amount({ asset: 'USD' }).title('Price', '价格'),
    },
    { title: { one: ['Order', '订单'], many: ['Orders', '订单'] }, owner: 'none' },
  )
  const { pages, operations } = pluginWith().resource(Order, {
    area: 'acme',
    path: '/api/v1/admin/acme-orders',
    list: { access: permission('acme:order:view', 'View orders', '查看订单') },
    actions: {
      assign: {
        access: permission('acme:order:assign', 'Assign orders', '分配订单'),
        title: ['Assign', '分配'],
        input: Type.Object({ clerkId: Type.Integer(), price: Type.Integer(), note: Type.String() }),
        set: ({ input: { clerkId, price } }) => ({ clerkId, price }),
      },
    },
    page: { group: 'orders', order: 90 },
  })
  const [action] = (pages[0] as ListPageDeclaration).actions ?? []
  t.same(action?.ask, ['clerkId', 'price', 'note'])
  t.same(action?.amounts, { price: { unit: 'USD' } })
  t.strictSame(action?.options, {
    clerkId: { labels: 'iam.user', optional: true, title: { en: 'Clerk', 'zh-CN': '店员' } },
  })
  const body = operations['assign']?.declaration.request?.body as TObject
  t.same(
    Object.entries(body.properties).map(([name, schema]) => [name, (schema as { readonly title?: string }).title]),
    [
      ['clerkId', 'Clerk'],
      ['price', 'Price'],
      ['note', undefined],
    ],
  )
})

t.test('each operation can ask for a fresh proof of identity', async (t) => {
  const access = permission('acme:desk:save', 'Save desks', '保存工位')
  const Desk = table(
    'acme_desk',
    { id: c.id(), name: c.text(9) },
    { title: { one: ['Desk', '工位'], many: ['Desks', '工位'] }, owner: 'none' },
  )
  const { operations } = pluginWith().resource(Desk, {
    area: 'acme',
    path: '/api/v1/admin/acme-desks',
    list: { access, scope: 'none' },
    create: { access, scope: 'none', fresh: '10m' },
    change: { access, scope: 'none', fresh: '5m' },
    remove: { access, scope: 'none', fresh: '5m', bulk: true },
    actions: { close: { access, scope: 'none', fresh: '1h', title: ['Close', '关闭'], set: { name: 'closed' } } },
  })
  t.strictSame(
    Object.entries(operations).map(([name, { declaration }]) => [name, declaration.fresh]),
    [
      ['list', undefined],
      ['create', '10m'],
      ['change', '5m'],
      ['remove', '5m'],
      ['deleteBatch', '5m'],
      ['close', '1h'],
    ],
  )
})

t.test('a new row has a value in each column that needs one', async (t) => {
  const { resource } = pluginWith()
  const Entry = table(
    'acme_entry',
    { id: c.id(), ownerId: c.user(), text: c.text(9), count: c.integer().default(0), at: c.createdAt() },
    { title: { one: ['Entry', '条目'], many: ['Entries', '条目'] }, owner: 'ownerId', erasure: 'removed' },
  )
  const shape = Entry.shape({ only: ['id', 'text'] })
  const base = { area: 'acme', path: '/api/v1/acme-entries' }
  t.throws(
    () => resource(shape, { ...base, create: { access: 'user' } }),
    /acme_entry: new rows need a value of ownerId,/,
  )
  resource(Entry, { ...base, create: { access: 'user' } })
  resource(shape, { ...base, list: { access: 'user' } })
  const prepare = ({ operator }: { readonly operator: Operator }) => ({ ownerId: operator.principal.userId })
  t.ok(resource(shape, { ...base, create: { access: 'user', prepare } }).operations['create'])
})

t.test('the errors of the plugin declare the reasons of the resource', async (t) => {
  const errors = defineBusinessErrors('acme', { unknown: 'No.' }, { unknown: '404' })
  const options = { area: 'acme', path: '/api/v1/admin/acme', errors }
  const list = { access: permission('acme:team:view', 'View teams', '查看团队'), scope: 'none' } as const
  t.throws(
    () => pluginWith().resource(Team, { ...options, list, notFound: 'unknown' }),
    /acme_team: the errors of the plugin lack the reason version-conflict, label-taken/,
  )
})

t.test('keys and tasks of the plugin are next to those of its resources', async (t) => {
  const log = table(
    'acme_log',
    { id: c.id() },
    { title: { one: ['Log', '日志'], many: ['Logs', '日志'] }, owner: 'none' },
  )
  const { config, scheduledTasks, entities } = defineResourcePlugin({
    id: 'acme.contacts',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { events },
    config: { 'platform.acme.pause': key.duration({ title: 'Pause', default: '1h' }) },
    migrations: [],
    resources: [contacts],
    tables: [log],
    scheduledTasks: [
      {
        name: 'acme.count',
        displayName: bilingual('Count contacts', '统计联系人'),
        fixedDelay: 'platform.acme.pause',
        autoStartup: true,
        run({ config, services, log }) {
          const pauseMs: number = config.get('platform.acme.pause')
          // @ts-expect-error: the plugin does not declare this key
          config.get('platform.acme.other')
          log.info({ pauseMs, now: services.database.clock.now() }, 'counted')
        },
      },
    ],
  })
  t.same(Object.keys(config ?? {}), [...Object.keys(contacts.config), 'platform.acme.pause'])
  t.strictSame(entities?.at(-1), log.entity)
  t.same(
    scheduledTasks?.map(({ name }) => name),
    [...contacts.tasks.map(({ name }) => name), 'acme.count'],
  )
})

t.test('handlers need the events', async (t) => {
  const { on } = pluginWith()
  const handlers = [on(contactSaved, 'lost', () => undefined)]
  const plugin = { id: 'acme', version: '1.0.0', kernel: '^1.0.0', migrations: [], resources: [], handlers }
  t.throws(() => defineResourcePlugin(plugin), /acme: handlers need the service "events" in requires/)
})
