import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { instant, nullable, Type, text } from '@plinth/http'
import fc from 'fast-check'
import t from 'tap'
import { adminDetail, adminList, type Row } from '../src/page-builders.ts'

declare module '@plinth/admin' {
  interface Operations {
    getTestParcels: {
      params: object
      query: { keyword?: string }
      body: object
      data: { items: { id: number; number: string; insured: boolean; address: { city: string } }[] }
      sort: 'id'
    }
    putTestParcel: {
      params: { id: number }
      query: object
      body: { number?: string; address?: { city: string } }
      data: { id: number; number: string }
      sort: never
    }
  }
}

const tsc = join(createRequire(import.meta.url).resolve('typescript/package.json'), '../bin/tsc')

const parcel = Type.Object({
  number: text,
  state: Type.Enum(['open', 'closed']),
  weight: Type.Integer(),
  price: nullable(Type.Number()),
  insured: Type.Boolean(),
  sentAt: nullable(instant),
  lines: Type.Array(Type.Object({ sku: text })),
  address: Type.Object({ city: text }),
  mixed: Type.Union([Type.String(), Type.Integer()]),
})
const forms = { number: 'text', state: 'text', weight: 'count', price: 'count', insured: 'flag', sentAt: 'time' }
const names = Object.keys(forms) as (keyof typeof forms)[]

/** Returns the builder of a page for rows of any type. */
function builder(): Row<never> {
  let made: Row<never> | undefined
  adminDetail('getShopParcel' as never, (it) => {
    made = it as never
    return { id: 'shop.parcel', title: { en: 'Parcel', 'zh-CN': '包裹' }, sections: [] }
  })
  return made as never
}

t.test(
  'members without a column in the page get columns from their schemas; lists, objects and several types get none',
  async (t) => {
    t.strictSame(
      builder().others(parcel, []),
      names.map((field) => ({ field, as: forms[field] })),
    )
  },
)

t.test('a member has one column: declared, or from its schema', async (t) => {
  const row = builder()
  fc.assert(
    fc.property(fc.subarray(names), fc.subarray(names), (byHand, left) => {
      const columns = byHand.map((field) => row.text(field as never, { mono: true }))
      const others = row.others(parcel, [...columns, ...(left as never[])], { hidden: true })
      const expected = names.filter((name) => !byHand.includes(name) && !left.includes(name))
      t.strictSame(
        others,
        expected.map((field) => ({ field, as: forms[field], hidden: true })),
      )
    }),
    { numRuns: 20 },
  )
})

t.test('without the types of operations, the compiler says how to generate them', async (t) => {
  const directory = t.testdir({
    'page.ts': `import { adminList } from '${join(import.meta.dirname, '../src/page-builders.ts')}'
adminList('getShopParcels', () => ({}) as never)
`,
  })
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--allowImportingTsExtensions', '--ignoreConfig']
  const compiler = ['-u', 'NODE_OPTIONS', process.execPath, tsc]
  const target = ['--module', 'nodenext', '--target', 'esnext', '--types', 'node']
  const words = [...compiler, ...options, ...target, 'page.ts']
  // The compiler runs without the hook that tap adds to Node.js processes, because tsc cannot start with it.
  const problems = await promisify(execFile)('env', words, { cwd: directory, timeout: 60_000 }).then(
    () => '',
    ({ stdout }: { stdout: string }) => stdout,
  )
  t.match(problems, `parameter of type '"Generate the types first: plinth openapi --types <plugin>"'`)
})

/** The compiler checks this page: each line after `@ts-expect-error` has a name or an option that does not exist. */
const checkedPage = () =>
  adminList('getTestParcels', (row) => ({
    id: 'test.parcels',
    title: 'Parcels',
    key: 'id',
    search: 'keyword',
    // @ts-expect-error: not a parameter of the operation
    find: ['number'],
    columns: [
      row.text('address.city', { mono: true, opens: { base: 'number', path: '/' } }),
      row.count('id', { unit: 'ms', total: true }),
      // @ts-expect-error: not a member of a row
      row.text('nmuber'),
      // @ts-expect-error: the member has another type
      row.text('number', { opens: { base: 'insured', path: '/' } }),
      // @ts-expect-error: an option of another renderer
      row.count('id', { mono: true }),
      // @ts-expect-error: not a unit
      row.count('id', { unit: 'miles' }),
    ],
    actions: [
      row.action('putTestParcel', { label: 'Change', params: { id: 'id' }, ask: ['number', 'address.city'] }),
      // @ts-expect-error: not a member of the body
      row.action('putTestParcel', { label: 'Change', params: { id: 'id' }, ask: ['nmuber'] }),
      // @ts-expect-error: not a member of the response
      row.action('putTestParcel', { label: 'Change', params: { id: 'id' }, once: 'secret' }),
      // @ts-expect-error: the path parameter is missing
      row.action('putTestParcel', { label: 'Change', params: {} }),
      // @ts-expect-error: not an option of an action
      row.action('putTestParcel', { label: 'Change', params: { id: 'id' }, fields: ['number'] }),
    ],
  }))

t.test('a page of the builder is data', async (t) => {
  const { kind, source, columns, actions } = checkedPage()
  t.strictSame([kind, source], ['list', 'getTestParcels'])
  t.strictSame(columns[1], { field: 'id', as: 'count', unit: 'ms', total: true })
  t.match(actions?.[0], { operation: 'putTestParcel', params: { id: { field: 'id' } } })
})
