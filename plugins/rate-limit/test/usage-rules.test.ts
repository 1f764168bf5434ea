import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../../..')
const sources = (pattern: string) =>
  globSync(pattern, { cwd: root, exclude: ['**/node_modules/**', '**/dist/**'] }).map((path) => ({
    path,
    text: readFileSync(join(root, path), 'utf8'),
  }))

t.test('R-059 the limiter and its stores know no identity and no open platform', (t) => {
  const allowed = /^(\.{1,2}\/|node:|@plinth\/(http|kernel|shared-store)$|prom-client$|typebox$)/
  const own = sources('plugins/{rate-limit,rate-limit-stores}/src/**/*.ts')
  t.ok(own.length > 20)
  for (const { path, text } of own) {
    for (const [, from = ''] of text.matchAll(/\bfrom '([^']+)'/g)) t.match(from, allowed, path)
  }
  t.end()
})

t.test('R-049 R-050 no route of the house declares a silent limit but heartbeats, tracking and log reports', (t) => {
  const all = sources('{plugins/*/src,examples/*}/**/*.ts')
  t.ok(all.length > 100)
  const silent = all.filter(({ text }) => /\bsilent: true\b/.test(text)).map(({ path }) => path)
  t.same(
    silent.filter((path) => !/heartbeat|tracking|log-report/.test(path)),
    [],
  )
  t.end()
})

t.test('R-002 its page says that it replaces no gateway limiter', (t) => {
  t.match(
    readFileSync(join(import.meta.dirname, '../README.md'), 'utf8'),
    /does not replace the limiter of a\s+gateway/,
  )
  t.end()
})

t.test('R-101 no limit of the house shares one counter among all callers of the product', (t) => {
  for (const { path, text } of sources('plugins/*/src/**/*.ts')) {
    for (const [declared] of text.matchAll(/rateLimited\(\{[^}]*\}\)/g)) {
      const isGlobal = /keyStrategy: 'GLOBAL'/.test(declared)
      t.notOk(isGlobal && !/\bkey:/.test(declared), `${path}: GLOBAL without a business key`)
    }
  }
  t.end()
})
