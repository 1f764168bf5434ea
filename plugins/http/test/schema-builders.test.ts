import { execFileSync } from 'node:child_process'
import { Type as light } from '@plinth/http'
import t from 'tap'
import { Type as heavy, type Static } from 'typebox'
import { Clean } from 'typebox/value'

type Builders = typeof light

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

t.test('the builders return the same schemas as TypeBox, including hidden members', async (t) => {
  for (const [name, make] of Object.entries(samples)) {
    const [ours, theirs] = [make(light), make(heavy as Builders)]
    t.strictSame(ours.map(revealed), theirs.map(revealed), name)
    t.equal(JSON.stringify(ours), JSON.stringify(theirs), `${name} in the same order`)
  }
  t.throws(() => light.Record(light.Integer(), light.Null()), /Type\.String\(\)/)
})

t.test('TypeBox accepts the schemas of the builders, and infers their types', async (t) => {
  const schema = light.Union([
    light.Object({ kind: light.Literal('a'), size: light.Optional(light.Integer()) }),
    light.Object({ kind: light.Literal('b'), names: light.Array(light.String()) }),
  ])
  const value: Static<typeof schema> = { kind: 'b', names: ['x'] }
  // @ts-expect-error a name is text
  const wrong: Static<typeof schema> = { kind: 'b', names: [1] }
  t.same(Clean(schema, { ...value, extra: 1 }), value)
  t.same(heavy.Object({ a: light.Optional(light.String()), b: light.Null() }).required, ['b'])
  t.ok(wrong)
})

t.test('loading the plugin loads neither TypeBox nor the WebSocket client of Node.js', async (t) => {
  const script = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
    await import('${import.meta.resolve('@plinth/http')}')
    const typebox = loaded.filter((url) => url.includes('/typebox/'))
    const client = process.moduleLoadList.filter((name) => name.includes('undici'))
    console.log(JSON.stringify({ isLoaded: loaded.length > 50, typebox, client }))`
  const response = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: 300_000,
  })
  t.same(JSON.parse(response), { isLoaded: true, typebox: [], client: [] })
})
