/** Mistakes that the compiler rejects. The compiler reports each `@ts-expect-error` without an error below it. */
import type { Events } from '@plinth/events'
import { Type } from '@plinth/http'
import { defineResourcePlugin, permission, pluginWith, readOnlyResource, type Store } from '@plinth/resource'
import { c, table } from '@plinth/table'
import t from 'tap'

const title = { one: ['Thing', '物品'], many: ['Things', '物品'] } as const
const columns = {
  id: c.id(),
  ownerId: c.caller(),
  name: c.text(20),
  hint: c.text(20).internal(),
  count: c.integer(),
  currency: c.text(8).fixed(),
  state: c
    .choice({ on: ['On', '开'], off: ['Off', '关'] })
    .default('on')
    .readOnly(),
  ...c.edits(),
}
const Thing = table('acme_thing', columns, { title, owner: 'ownerId', erasure: 'removed' })
const { resource } = pluginWith<{ readonly events: Events }>()
const view = permission('acme:thing:view', 'View', '查看')
const base = { area: 'acme', path: '/api/v1/admin/acme/things' } as const

/** Never called: only the compiler reads it. */
export function mistakes(store: Store<typeof Thing>): void {
  // @ts-expect-error unknown filter
  resource(Thing, { ...base, list: { access: view, filters: ['nope'] } })
  // @ts-expect-error a hidden column is not a filter: callers could find out its value
  resource(Thing, { ...base, list: { access: view, filters: ['hint'] } })
  // @ts-expect-error a hidden column is not a sort order
  resource(Thing, { ...base, list: { access: view, sort: ['hint'] } })
  // @ts-expect-error a number cannot be searched
  resource(Thing, { ...base, list: { access: view, search: ['count'] } })
  // @ts-expect-error a text is not a time range
  resource(Thing, { ...base, list: { access: view, range: 'name' } })
  // @ts-expect-error a parameter that the list does not declare
  resource(Thing, { ...base, list: { access: view, query: { at: Type.String() }, where: ({ to }) => ({ name: to }) } })
  // @ts-expect-error a resource that only reads creates nothing
  readOnlyResource(Thing, { ...base, create: { access: view } })
  // @ts-expect-error errors that are only declared cannot be thrown
  resource(Thing, { ...base, errors: { area: 'acme', codes: {} }, list: { access: view } })
  // @ts-expect-error an operation without access
  resource(Thing, { ...base, list: { filters: ['name'] } })
  // @ts-expect-error unknown column in a switch
  resource(Thing, { ...base, actions: { hide: { access: view, title: ['Hide', '藏'], set: { nope: true } } } })
  // @ts-expect-error unknown choice in a switch
  resource(Thing, { ...base, actions: { hide: { access: view, title: ['Hide', '藏'], set: { state: 'nope' } } } })
  // @ts-expect-error a retention by a text
  resource(Thing, { ...base, retention: { by: 'name', keep: '1d', keys: 'platform.acme' } })
  // @ts-expect-error a member of the page that the response does not have
  resource(Thing, { ...base, page: { group: 'rules', order: 1, columns: (row) => [row.text('nope')] } })
  // @ts-expect-error a column of the page that the response does not have
  resource(Thing, { ...base, page: { group: 'rules', order: 1, columns: (row) => [row.text('hint')] } })
  // @ts-expect-error a hook without the service that it uses
  resource(Thing, { ...base, create: { access: view, inTransaction: ({ parts }) => parts.identity } })
  // @ts-expect-error a member that the input does not have
  resource(Thing, { ...base, create: { access: view, prepare: ({ input }) => ({ name: input.state }) } })
  const things = resource(Thing, { ...base, list: { access: view }, create: { access: view } })
  // @ts-expect-error the plugin does not require the events that the resource needs
  defineResourcePlugin({ id: 'acme', version: '1.0.0', kernel: '^1.0.0', migrations: [], resources: [things] })
  // @ts-expect-error a column of an older name
  void store.get(1).then(({ names }) => names)
  // @ts-expect-error an unknown column
  void store.create({ nope: 1 })
}

t.test('types are checked by the compiler', async (t) => {
  const { routes } = resource(Thing, { ...base, list: { access: view } })
  t.equal(routes.length, 1)
})
