/** Tests the declaration of files: columns of a response, and fields that accept an upload. */
import type { PageDeclaration } from '@plinth/admin'
import { assertMembers } from '@plinth/dev/testing'
import { nullable, type Schema, Type } from '@plinth/http'
import { fileView, uploadedFile, uploadOperation } from '@plinth/storage'
import t from 'tap'
import type { Operation } from '../src/admin/operations.ts'
import { findPageProblems } from '../src/admin/page-faults.ts'
import { pageView } from '../src/admin/page-views.ts'

const text = (en: string) => ({ en, 'zh-CN': `${en} 中文` })
/** Returns a schema as the API description contains it. */
const described = (schema: object): Schema => JSON.parse(JSON.stringify(schema))
const titled = (schema: object) => described({ ...schema, 'x-title': text('T') })

function operation(id: string, method: string, facts: Partial<Operation> = {}): readonly [string, Operation] {
  const access = { permission: `shop:${id}`, scope: 'none' } as const
  const rest = { path: '/x', access, params: {}, query: {}, takesReason: false, body: undefined, helps: new Map() }
  return [id, { id, method, data: described(Type.Object({})), ...rest, ...facts }]
}

const photo = uploadedFile({ types: ['image/png'], maxBytes: 1000 })
const item: Schema = {
  type: 'object',
  properties: {
    id: titled({ type: 'integer' }),
    photo: titled(nullable(fileView)),
    address: titled(Type.Object({ name: Type.String(), street: Type.String() })),
  },
}
const operations = new Map([
  operation('getShops', 'GET', { data: { type: 'array', items: item } }),
  operation('postShop', 'POST', { body: described(Type.Object({ photo: Type.Optional(nullable(photo)) })) }),
])
const withUploads = new Map([...operations, operation(uploadOperation, 'POST')])

const page = (field: string): PageDeclaration => ({
  kind: 'list',
  id: 'shop.shops',
  title: text('Shops'),
  source: 'getShops',
  key: 'id',
  columns: [{ field, as: 'file' }],
  create: { operation: 'postShop', title: text('New shop'), fields: ['photo'] },
})

t.test('a file column shows only a file, and a file field needs the operation that stores files', (t) => {
  t.strictSame(findPageProblems([page('photo')], withUploads, new Map()), [])
  t.strictSame(findPageProblems([page('address')], withUploads, new Map()), [
    'page "shop.shops": "address" cannot be shown as file',
  ])
  t.strictSame(findPageProblems([page('photo')], operations, new Map()), [
    `page "shop.shops": "photo" accepts a file, but no loaded plugin provides the operation "${uploadOperation}"`,
  ])
  t.end()
})

t.test('a file field says which files it accepts, and whether the user may upload them', (t) => {
  const fieldFor = (isAllowed: boolean) => {
    const viewer = {
      locale: 'en',
      can: ({ id }: Operation) => isAllowed || id !== uploadOperation,
      sees: () => true,
      page: () => undefined,
      created: () => undefined,
      hasLabels: () => false,
    }
    const view = pageView(page('photo') as never, withUploads, viewer)
    return (view as unknown as { create: { fields: readonly unknown[] } }).create.fields[0]
  }
  assertMembers(t, fieldFor(true), { nullable: true, upload: { allowed: true, types: ['image/png'], maxBytes: 1000 } })
  t.match(fieldFor(false), { upload: { allowed: false, permission: `shop:${uploadOperation}` } })
  t.end()
})
