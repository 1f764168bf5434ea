/** Mistakes that the compiler rejects. The compiler reports each `@ts-expect-error` without an error below it. */
import { type Database, insertRow, updateRows } from '@plinth/database'
import { type CreateOf, c, type RowOf, table } from '@plinth/table'
import t from 'tap'
import { Type } from 'typebox'

const title = { one: ['Thing', '物品'], many: ['Things', '物品'] } as const
const columns = {
  id: c.id(),
  ownerId: c.caller(),
  name: c.text(20),
  hint: c.text(20).internal(),
  count: c.integer(),
  price: c.amount({ in: 'currency' }),
  currency: c.text(8).fixed(),
  state: c
    .choice({ on: ['On', '开'], off: ['Off', '关'] })
    .default('on')
    .readOnly(),
  at: c.time().nullable(),
  ...c.edits(),
}
const Thing = table('acme_thing', columns, { title, owner: 'ownerId', erasure: 'removed' })

const input: CreateOf<typeof columns> = { name: 'a', count: 1, price: 1, currency: 'EUR' }

/** Never called: only the compiler reads it. */
export async function mistakes(db: Database): Promise<void> {
  // @ts-expect-error an owner needs an erasure
  table('acme_thing', columns, { title, owner: 'ownerId' })
  // @ts-expect-error unknown owner column
  table('acme_thing', columns, { title, owner: 'userId', erasure: 'removed' })
  // @ts-expect-error a text is not an owner
  table('acme_thing', columns, { title, owner: 'name', erasure: 'removed' })
  // @ts-expect-error unknown column in an index
  table('acme_thing', columns, { title, owner: 'none', indexes: [['nope']] })
  // @ts-expect-error unknown column in a unique index
  table('acme_thing', columns, { title, owner: 'none', uniques: [{ columns: ['nope'], reason: 'taken' }] })
  // @ts-expect-error the column with the unit does not exist
  table('acme_thing', { id: c.id(), price: c.amount({ in: 'nope' }) }, { title, owner: 'none' })
  // @ts-expect-error null in a required column
  table('acme_thing', columns, { title, owner: 'ownerId', erasure: { anonymised: { name: null }, reason: ['x', 'x'] } })
  // @ts-expect-error a default of another type
  c.integer().default('1')
  // @ts-expect-error a shape with an unknown column
  Thing.shape({ only: ['nope'] })
  // @ts-expect-error a member of a response that is not a column
  Thing.customShape({ view: Type.Object({ nope: Type.String() }) })
  // @ts-expect-error a hidden column
  Thing.customShape({ view: Type.Object({ hint: Type.String() }) })
  // @ts-expect-error a value of another type
  Thing.customShape({ view: Type.Object({ name: Type.String() }), viewOf: ({ count }) => ({ name: count }) })
  // @ts-expect-error a computed member of another type
  Thing.computed(['x', 'x'], Type.Integer(), (row) => row.name)
  // @ts-expect-error a column that only code sets
  input satisfies CreateOf<typeof columns> & { state: 'on' }
  // @ts-expect-error a missing column
  const less: CreateOf<typeof columns> = { name: 'a' }
  // @ts-expect-error a text for a number
  const row: RowOf<typeof columns>['count'] = 'a'
  const found = await db.fork().findOneOrFail(Thing.entity, { state: 'on', count: { $gt: 0 } })
  const state: 'on' | 'off' = found.state
  // @ts-expect-error unknown property
  await db.fork().findOne(Thing.entity, { nope: 1 })
  // @ts-expect-error a choice that does not exist
  await db.fork().nativeUpdate(Thing.entity, { id: 1 }, { state: 'nope' })
  // @ts-expect-error a number for a choice
  await updateRows(db, Thing.entity, { id: found.id }, { state: 1 })
  // @ts-expect-error a required column is missing
  await insertRow(db, Thing.entity, { id: 1 })
  void [less, row, state]
}

t.test('types are checked by the compiler', async (t) => {
  t.same(Thing.rowOf(input), input)
})
