import type { Test } from 'tap'
import { assertSuccess } from './clients.ts'
import type { Scene } from './scene.ts'

interface Parameter {
  readonly name: string
  readonly schema: {
    readonly type?: string
    readonly enum?: readonly string[]
    readonly pattern?: string
    readonly 'x-range'?: string
  }
}

export interface Operation {
  readonly parameters?: readonly Parameter[]
}

type Row = Readonly<Record<string, unknown>>
type Rows = (query: object) => Promise<readonly Row[]>

/** Parameters of the page and of the order, and those of the time range. */
const otherParameters: ReadonlySet<string> = new Set([
  'page',
  'size',
  'cursor',
  'count',
  'sort',
  'filter',
  'from',
  'to',
])

/** Filters that all rows of this test match. */
const unproven: ReadonlySet<string> = new Set(['/api/v1/notifications/inbox unreadOnly'])

/** Parameters that a filter needs beside it. */
const companions: Readonly<Record<string, (row: Row) => object>> = {
  '/api/v1/admin/approvals sourceId': ({ sourceType }) => ({ sourceType }),
  '/api/v1/admin/money/accounts ownerId': () => ({ ownerType: 'user' }),
  '/api/v1/admin/money/accounts ownerType': () => ({ ownerId: '1' }),
}

/** Returns values for a filter. No row has all of them. */
function valuesOf({ type, enum: values, pattern = '' }: Parameter['schema']): readonly (string | number | boolean)[] {
  if (values !== undefined) return values
  if (type === 'boolean') return [true, false]
  if (type === 'integer') return [Number.MAX_SAFE_INTEGER - 1]
  return ['none-such', 'points:none-such', 'ab'.repeat(16)]
    .filter((text) => new RegExp(pattern, 'u').test(text))
    .slice(0, 1)
}

async function assertFilterApplies(t: Test, path: string, { name, schema }: Parameter, rows: Rows): Promise<void> {
  const [row] = await rows({})
  if (row === undefined || unproven.has(`${path} ${name}`)) return
  const found: string[] = []
  for (const value of valuesOf(schema)) {
    const matching = await rows({ [name]: value, ...companions[`${path} ${name}`]?.(row) })
    found.push(JSON.stringify(matching.map(({ id, ...more }) => id ?? more)))
  }
  t.ok(found[0] === '[]' || new Set(found).size > 1, `${path} applies ${name}`)
}

async function assertRangeApplies(t: Test, path: string, rows: Rows): Promise<void> {
  t.strictSame(await rows({ from: '2100-01-01T00:00:00Z' }), [], `${path} from a time after the last possible id`)
  t.strictSame(await rows({ to: '1970-01-01T00:00:00Z' }), [], `${path} until 1970`)
}

/** Asserts that every list without path parameters applies its filters and its time range. */
export async function assertListQueriesApply(
  t: Test,
  { admin, user }: Scene,
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>,
): Promise<void> {
  const withoutRows: string[] = []
  for (const [path, { get }] of Object.entries(paths)) {
    const { parameters = [] } = get ?? {}
    if (path.includes('{') || !parameters.some(({ name }) => name === 'size')) continue
    const client =
      /\/(inbox|users\/me|mall\/orders|push\/devices)/.test(path) && !path.includes('/admin/') ? user : admin
    const rows: Rows = async (query) => {
      const call = client.GET(path as '/api/v1/admin/iam/audits', { params: { query } })
      return (await assertSuccess(call)).items as unknown as readonly Row[]
    }
    if ((await rows({})).length === 0) withoutRows.push(path)
    for (const parameter of parameters) {
      if (!otherParameters.has(parameter.name)) await assertFilterApplies(t, path, parameter, rows)
    }
    if (parameters.some(({ schema }) => schema['x-range'] !== undefined)) await assertRangeApplies(t, path, rows)
  }
  t.strictSame(withoutRows, [
    '/api/v1/admin/member-points/days',
    '/api/v1/admin/templates',
    '/api/v1/admin/web3/payment-settlement-audit-logs/compensation-candidates',
  ])
}
