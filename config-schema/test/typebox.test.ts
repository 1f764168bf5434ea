import t from 'tap'
import { Type as library, type Static } from 'typebox'
import { Clean } from 'typebox/value'
import { Type as bundled } from '../src/typebox.ts'

type Builders = typeof bundled

/** Calls of every builder with every kind of argument. */
const samples: Readonly<Record<keyof Builders, (type: Builders) => readonly object[]>> = {
  String: (type) => [type.String(), type.String({ minLength: 1, description: 'x' })],
  Integer: (type) => [type.Integer({ minimum: 1, default: 2 })],
  Number: (type) => [type.Number()],
  Boolean: (type) => [type.Boolean({ title: 'x' })],
  Null: (type) => [type.Null()],
  Unknown: (type) => [type.Unknown(), type.Unknown({ description: 'x' })],
  Literal: (type) => [type.Literal('a'), type.Literal(1), type.Literal(true, { description: 'x' })],
  Enum: (type) => [type.Enum(['a', 'b'], { default: 'a' }), type.Enum({ A: 1, B: 'x' })],
  Union: (type) => [type.Union([type.String(), type.Null()]), type.Union([type.Literal('a')], { description: 'x' })],
  Array: (type) => [type.Array(type.String(), { minItems: 1 })],
  Object: (type) => [
    type.Object({}),
    type.Object({ a: type.String(), b: type.Optional(type.Integer()) }, { additionalProperties: false }),
    type.Object({ a: type.Optional(type.Object({ b: type.Unknown() })) }),
  ],
  Record: (type) => [
    type.Record(type.String({ maxLength: 5 }), type.Integer(), { description: 'x' }),
    type.Record(type.String({ pattern: '^a' }), type.Unknown()),
  ],
  Optional: (type) => [type.Optional(type.String({ minLength: 1 })), type.Optional(type.Unsafe({ type: 'string' }))],
  Unsafe: (type) => [type.Unsafe<string>({ type: 'string' })],
}

/** Returns a schema with the properties that TypeBox hides from JSON made visible. */
const revealed = (schema: unknown): unknown =>
  typeof schema !== 'object' || schema === null
    ? schema
    : Array.isArray(schema)
      ? schema.map(revealed)
      : Object.fromEntries(
          Object.entries(Object.getOwnPropertyDescriptors(schema)).map(([name, { value, enumerable }]) => [
            enumerable ? name : `hidden ${name}`,
            revealed(value),
          ]),
        )

t.test('the bundled builders return the same schemas as TypeBox, including hidden members', async (t) => {
  for (const [name, make] of Object.entries(samples)) {
    const [found, expected] = [make(bundled), make(library)]
    t.strictSame(found.map(revealed), expected.map(revealed), name)
    t.equal(JSON.stringify(found), JSON.stringify(expected), `${name} in the same order`)
  }
})

t.test('TypeBox accepts the schemas of the bundled builders, and infers their types', async (t) => {
  const schema = bundled.Union([
    bundled.Object({ kind: bundled.Literal('a'), size: bundled.Optional(bundled.Integer()) }),
    bundled.Object({ kind: bundled.Literal('b'), names: bundled.Array(bundled.String()) }),
  ])
  const value: Static<typeof schema> = { kind: 'b', names: ['x'] }
  // @ts-expect-error a name is text
  const wrong: Static<typeof schema> = { kind: 'b', names: [1] }
  t.same(Clean(schema, { ...value, extra: 1 }), value)
  t.same(library.Object({ a: bundled.Optional(bundled.String()), b: bundled.Null() }).required, ['b'])
  t.ok(wrong)
})
