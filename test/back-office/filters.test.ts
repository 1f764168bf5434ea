/** Tests the filters of all lists of the back office. */
import { adminPages, type ListPageDeclaration } from '@plinth/admin'
import t from 'tap'
import { type Operation, operationsOf } from '../../plugins/console/src/admin/operations.ts'
import { startWithRows } from './back-office-rows.ts'

const { running, server, root } = await startWithRows(t.teardown)
const operations = await operationsOf(server)
const lists = [...running.contributions(adminPages).values()].filter(
  (page): page is ListPageDeclaration => page.kind === 'list',
)

/** Lists without the parameter `filter`, each with the reason. */
const withoutFilter: Readonly<Record<string, string>> = {
  'console.health': 'few checks, which are in no table',
  'iam.own-api-tokens': 'a person has few tokens at a time',
  'iam.own-sessions': 'a person has few sessions at a time',
  'iam.user-sessions': 'a person has few sessions at a time',
  'notification.attachments': 'the attachments of one message',
  'backup.backups': 'the backups in the place, which are in no table',
  'notification.channels': 'one row for each channel',
  'notification.inbox': 'an item is joined with its content, and has parameters for both',
  'notification.preference-cells': 'one row for each category and channel of the product',
  'notification.preference-defaults': 'one row for each category and channel of the product',
  'notification.receipts': 'the recipients of one message',
  'notification.rule-templates': 'templates of the code, which are in no table',
  'open-platform.scopes': 'permissions of the code, which are in no table',
  'open-platform.usage': 'figures that are added up, with parameters for day and application',
  'scheduler.tasks': 'one row for each task of the code',
  'sign-in-oidc.providers': 'providers of the configuration, which are in no table',
  'storage.disks': 'disks of the configuration, which are in no table',
  'system-config.history': 'the primary key has two columns; it has parameters for key, version and actor',
  'system-config.requests': 'the state depends on the time, so it is not a column; it has a parameter',
  'web3.chains': 'one row for each chain of the configuration',
  'webhooks.event-types': 'declarations of plugins, which are in no table',
}

const columnsOf = ({ source }: ListPageDeclaration) => operations.get(source)?.query['filter']?.['x-filter']

t.test('each list can be filtered by its columns, or has a reason why not', (t) => {
  t.strictSame(
    lists.filter((page) => columnsOf(page) === undefined && withoutFilter[page.id] === undefined).map(({ id }) => id),
    [],
  )
  for (const [id, reason] of Object.entries(withoutFilter)) {
    const page = lists.find((one) => one.id === id)
    t.ok(page !== undefined && columnsOf(page) === undefined, `${id} needs no reason: ${reason}`)
  }
  t.end()
})

type Row = Readonly<Record<string, unknown>>

/** Returns whether a row meets a condition, according to the response. */
function meets(row: Row, name: string, operator: string, value: string): boolean {
  const shown = row[name]
  if (operator === 'empty') return (shown === null) === (value === 'true')
  if (shown === null || shown === undefined) return false
  if (operator === 'in') return String(shown) === value
  const [a, b] = typeof shown === 'number' ? [shown, Number(value)] : [Date.parse(String(shown)), Date.parse(value)]
  return operator === 'gte' ? a >= b : a <= b
}

const escaped = (value: unknown) => String(value).replace(/[\\,]/g, '\\$&')

t.test('each operator of each column selects the rows that the response shows', async (t) => {
  let tried = 0
  for (const page of lists) {
    const { path } = operations.get(page.source) as Operation
    const columns = columnsOf(page)
    if (columns === undefined || path.includes('{')) continue
    const list = async (query: string) => (await root('GET', `${path.slice('/api/v1/'.length)}?size=200${query}`)).items
    const all: readonly Row[] = await list('')
    for (const [name, operators] of Object.entries(columns)) {
      const values = new Set(all.flatMap((row) => (row[name] == null ? [] : [String(row[name])])))
      for (const operator of operators) {
        const samples =
          operator === 'empty' ? ['true', 'false'] : [...values].filter((value) => value !== '').slice(0, 2)
        for (const value of samples) {
          const condition = encodeURIComponent(`${name}:${operator}:${escaped(value)}`)
          const found: readonly Row[] = await list(`&filter=${condition}`)
          const expected = all.filter((row) => meets(row, name, operator, value))
          const ids = (rows: readonly Row[]) => rows.map((row) => String(row[page.key])).toSorted()
          t.strictSame(ids(found), ids(expected), `${page.id} ${name}:${operator}:${value}`)
          tried += 1
        }
      }
    }
  }
  t.ok(tried > 150, `${tried} conditions`)
})

t.test('a parameter for a column selects the same rows as a condition', async (t) => {
  let tried = 0
  for (const page of lists) {
    const { path, query } = operations.get(page.source) as Operation
    const columns = columnsOf(page)
    if (columns === undefined || path.includes('{')) continue
    const list = async (text: string) => (await root('GET', `${path.slice('/api/v1/'.length)}?size=200${text}`)).items
    const all: readonly Row[] = await list('')
    for (const name of Object.keys(columns).filter((one) => one in query)) {
      const value = all.find((row) => row[name] != null)?.[name]
      if (value === undefined) continue
      const [byParameter, byCondition] = [
        await list(`&${name}=${encodeURIComponent(String(value))}`),
        await list(`&filter=${encodeURIComponent(`${name}:in:${escaped(value)}`)}`),
      ]
      t.strictSame(byCondition, byParameter, `${page.id} ${name}`)
      tried += 1
    }
  }
  t.ok(tried > 15, `${tried} parameters`)
})
