/** The JSON of a table: schemas of responses and requests, and the conversion of rows. */
import { id, instant, nullable } from '@plinth/http'
import { c, table } from '@plinth/table'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import t from 'tap'
import { Type } from 'typebox'

const title = { one: ['Thing', '物品'], many: ['Things', '物品'] } as const
const Thing = table(
  'acme_thing',
  {
    id: c.id(),
    ownerId: c.caller(),
    userId: c.user().nullable(),
    placeId: c.reference('acme.place').fixed(),
    name: c.text(5, { min: 1 }).title('Name', '名称').describe('Name of the thing.'),
    code: c.text(4, { pattern: '^[A-Z]+$' }).default('A'),
    words: c.longText(10).nullable(),
    size: c.integer({ max: 9 }).default(3),
    bytes: c.bigint({ min: 0 }).nullable(),
    price: c.amount({ asset: 'points' }, { min: 1 }).nullable(),
    isOpen: c.flag().default(false).readOnly(),
    state: c.choice({ on: ['On', '开'], off: { title: ['Off', '关'], tone: 'quiet' } }).default('on'),
    at: c.time().nullable(),
    tags: c.json(Type.Array(Type.String({ maxLength: 3 }), { maxItems: 2 }), Type.Array(Type.String())).default([]),
    hash: c.text(64).internal(),
    ...c.edits(),
  },
  { title, owner: 'ownerId', erasure: 'removed' },
)

const ajv = new Ajv({ strict: false, useDefaults: true })
formats.default(ajv)
/** Returns whether a schema accepts a value. Like requests, it rejects unknown members. */
const accepts = (schema: object, value: unknown) => ajv.validate({ ...schema, additionalProperties: false }, value)

t.test('a create request contains what callers may set', async (t) => {
  t.same(Object.keys(Thing.schemas.create.properties), [
    'userId',
    'placeId',
    'name',
    'code',
    'words',
    'size',
    'bytes',
    'price',
    'state',
    'at',
    'tags',
  ])
  t.same(Thing.schemas.create.required, ['placeId', 'name'])
  const least = { placeId: 7, name: 'a' }
  t.ok(accepts(Thing.schemas.create, { ...least }))
  const rejected: readonly object[] = [
    { name: 'a' },
    { ...least, name: '' },
    { ...least, name: 'abcdef' },
    { ...least, name: 'a\u0000' },
    { ...least, name: null },
    { ...least, code: 'a' },
    { ...least, words: 'x'.repeat(11) },
    { ...least, words: '\u0000' },
    { ...least, size: 10 },
    { ...least, size: -(2 ** 31) - 1 },
    { ...least, size: 1.5 },
    { ...least, bytes: -1 },
    { ...least, price: 0 },
    { ...least, state: 'nope' },
    { ...least, at: 'yesterday' },
    { ...least, at: '1969-12-31T23:59:59Z' },
    { ...least, at: '9999-12-31T23:59:59Z' },
    { ...least, tags: ['long'] },
    { ...least, placeId: 0 },
    { ...least, userId: 2 ** 53 },
    { ...least, isOpen: true },
    { ...least, ownerId: 1 },
    { ...least, hash: 'x' },
    { ...least, version: 2 },
  ]
  for (const value of rejected) t.notOk(accepts(Thing.schemas.create, value), JSON.stringify(value))
  t.ok(
    accepts(Thing.schemas.create, { ...least, userId: null, words: 'two\nlines', at: null, bytes: null, price: null }),
  )
})

t.test('a change request may omit everything, and never gets a default', async (t) => {
  t.same(Object.keys(Thing.schemas.change.properties), [
    'userId',
    'name',
    'code',
    'words',
    'size',
    'bytes',
    'price',
    'state',
    'at',
    'tags',
    'version',
  ])
  const change = {}
  t.ok(accepts(Thing.schemas.change, change))
  t.same(change, {})
  t.notOk(accepts(Thing.schemas.change, { placeId: 7 }), 'fixed')
  const created: Record<string, unknown> = { placeId: 7, name: 'a' }
  t.ok(accepts(Thing.schemas.create, created))
  t.same(created, { placeId: 7, name: 'a', code: 'A', size: 3, state: 'on' })
})

t.test('titles and descriptions are in the schema', async (t) => {
  const { name } = Thing.schemas.create.properties
  const expected = { title: 'Name', 'x-title': { en: 'Name', 'zh-CN': '名称' }, description: 'Name of the thing.' }
  t.match(name, expected)
  t.match(Thing.schemas.view.properties['name'], expected)
})

const row = {
  id: 1,
  ownerId: 2,
  userId: null,
  placeId: 7,
  name: 'a',
  code: 'A',
  words: null,
  size: 3,
  bytes: null,
  price: 5,
  isOpen: false,
  state: 'on',
  at: new Date(1000),
  tags: ['x'],
  hash: 'secret',
  version: 1,
  createdAt: new Date(0),
  updatedAt: new Date(0),
  updatedBy: null,
} as const
const at = { now: new Date(5000), locale: 'en', em: {} as never }
const { hash: _, ...shown } = row

t.test('a response contains the columns that are shown, with times as text', async (t) => {
  const [view] = await Thing.viewsOf([{ ...row, tags: [...row.tags] }], at)
  const expected = { ...shown, at: '1970-01-01T00:00:01.000Z', createdAt: '1970-01-01T00:00:00.000Z' }
  t.same(view, { ...expected, updatedAt: expected.createdAt })
  t.ok(accepts(Thing.schemas.view, view))
})

t.test('a request becomes columns', async (t) => {
  t.same(Thing.rowOf({ placeId: 7, name: 'a', at: '1970-01-01T00:00:01Z', words: null }), {
    placeId: 7,
    name: 'a',
    at: new Date(1000),
    words: null,
  })
  t.same(Thing.rowOf({ at: null }), { at: null })
})

t.test('a shape has its own order and members', async (t) => {
  const calls: number[][] = []
  const age = Thing.computed(['Age', '时长'], Type.Integer(), ({ createdAt }, { now }) => +now - +createdAt)
  const loaded = Thing.loaded(['Place', '地点'], Type.String(), async (rows) => {
    calls.push(rows.map(({ id }) => id))
    return new Map(rows.map(({ id, placeId }) => [id, `place ${placeId}`]))
  })
  const upper = Thing.computed(['Name', '名称'], Type.String(), ({ name }) => name.toUpperCase())
  const shape = Thing.shape({ members: { age, place: loaded, name: upper }, only: ['name', 'age', 'id', 'place'] })
  t.same(Object.keys(shape.schemas.view.properties), ['name', 'age', 'id', 'place'])
  t.same(
    await shape.viewsOf(
      [
        { ...row, tags: [] },
        { ...row, id: 2, tags: [] },
      ],
      at,
    ),
    [
      { id: 1, name: 'A', age: 5000, place: 'place 7' },
      { id: 2, name: 'A', age: 5000, place: 'place 7' },
    ],
  )
  t.same(calls, [[1, 2]], 'one call for all rows')
  t.same(Object.keys(shape.schemas.create.properties), ['name'], 'requests contain the columns of the shape')
  t.same(Object.keys(Thing.shape({ members: { age } }).schemas.view.properties).at(-1), 'age')
  t.throws(() => Thing.shape({ only: ['nope' as 'id'] }), /acme_thing has no member nope/)
  t.throws(() => Thing.shape({ only: ['hash' as 'id'] }), /acme_thing has no member hash/)
})

t.test('a shape by hand has the values of columns by name', async (t) => {
  const shape = Thing.customShape({
    view: Type.Object({ at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]), name: Type.String() }),
    create: Type.Object({ name: Type.String(), at: Type.String(), isOpen: Type.Boolean() }),
    change: Type.Object({ size: Type.Integer(), more: Type.String() }),
  })
  t.same(await shape.viewsOf([{ ...row, tags: [] }], at), [{ at: '1970-01-01T00:00:01.000Z', name: 'a' }])
  const request = { name: 'b', at: '1970-01-01T00:00:02Z', isOpen: true, size: 1, more: 'x', hash: 'x', version: 2 }
  t.same(shape.rowOf(request), { name: 'b', at: new Date(2000), size: 1 }, 'not what only code sets')
  t.same(shape.unread, ['words'], 'a list does not read a long text that no response contains')
  t.same(Thing.shape({ only: ['id'] }).unread, ['words'])
  t.same(Thing.unread, [])
})

t.test('a shape by hand may convert the row', async (t) => {
  const shape = Thing.customShape({
    view: Type.Object({ place: Type.Object({ id: Type.Integer() }), age: Type.Integer() }),
    viewOf: ({ placeId, createdAt }, { now }) => ({ place: { id: placeId }, age: +now - +createdAt }),
  })
  t.same(await shape.viewsOf([{ ...row, tags: [] }], at), [{ place: { id: 7 }, age: 5000 }])
  t.same([shape.unread, shape.rowOf({})], [[], {}])
  const members = { age: Thing.computed(['Age', '时长'], Type.Integer(), () => 1) }
  t.same(Thing.shape({ only: ['id', 'age'], members }).unread, [], 'a member may need each column')
})

t.test('a column has another schema in responses, and a member has the title of the messages', async (t) => {
  const Run = table(
    'acme_run',
    { id: c.id(), endedAt: c.bigint({ min: 0 }).view(instant).nullable() },
    { title, owner: 'none' },
  )
  const shape = Run.shape({
    members: { isOver: Run.computed(undefined, Type.Boolean(), ({ endedAt }) => endedAt !== null) },
  })
  t.same(shape.schemas.create.properties['endedAt'], nullable(Type.Integer({ minimum: 0 })))
  t.same(shape.schemas.view.properties, { id, endedAt: nullable(instant), isOver: Type.Boolean() })
  const at = { now: new Date(0), locale: 'en', em: {} as never }
  const rows = [
    { id: 1, endedAt: 86_400_000 },
    { id: 2, endedAt: null },
  ]
  t.same(await shape.viewsOf(rows, at), [
    { id: 1, endedAt: '1970-01-02T00:00:00.000Z', isOver: true },
    { id: 2, endedAt: null, isOver: false },
  ])
})
