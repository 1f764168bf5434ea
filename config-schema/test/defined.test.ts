import t from 'tap'
import { omitUndefined } from '../src/index.ts'

interface Options {
  readonly name: string
  readonly reason?: string
  readonly at?: Date | null
}

const absent = (): string | undefined => undefined

t.test('a copy has only the members that are not undefined', async (t) => {
  const options: Options = omitUndefined({ name: 'a', reason: absent(), at: null })
  t.strictSame(Object.entries(options), [
    ['name', 'a'],
    ['at', null],
  ])
  t.strictSame(omitUndefined<Options>({ name: '', reason: 'b' }), { name: '', reason: 'b' })
})

t.test('the compiler finds misspelt and missing members', async (t) => {
  // @ts-expect-error No option has this name.
  const misspelt: Options = omitUndefined({ name: 'a', raeson: absent() })
  // @ts-expect-error A required member may not be undefined.
  const missing: Options = omitUndefined({ name: absent() })
  // @ts-expect-error Nothing says which members there are.
  const untyped = omitUndefined({ name: 'a' })
  t.strictSame([misspelt, missing, untyped], [{ name: 'a' }, {}, { name: 'a' }])
})
