import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { localize } from '@plinth/kernel'
import { compileChangeSets, dialects } from '@plinth/migrations'
import t from 'tap'
import product from '../examples/quickstart/plinth.config.ts'
import { layers } from '../scripts/layers.ts'
import { changeSetsIn, flattenMessages, migrationPage, permissionPage, textPage } from '../scripts/plugin-pages.ts'

const root = join(import.meta.dirname, '..')
const text = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
const sections = text.split(/^## /m).map((section) => ({
  title: section.slice(0, section.indexOf('\n')),
  hops: section.match(/^\d+\. .+$/gm) ?? [],
}))

t.test('the picture of the layers shows every package in its layer', (t) => {
  const drawn = [...text.matchAll(/^ {2}\w+\["(.+?): (.+?)(?: \(.*\))?"\]$/gm)].map(([, name, packages]) => [
    name,
    packages,
  ])
  t.same(drawn, layers.map(({ name, packages }) => [name, packages.join(', ')]).reverse())
  t.end()
})

t.test('every step of a path names a file that exists', (t) => {
  for (const { title, hops } of sections.filter(({ hops }) => hops.length > 0)) {
    for (const [index, hop] of hops.entries()) {
      t.match(hop, new RegExp(`^${index + 1}\\. \``), `${title}: hops are numbered, and begin with their file`)
      for (const [, file = ''] of hop.matchAll(/`([\w./-]+\/[\w./-]+\.ts)`/g)) {
        t.ok(existsSync(join(root, file)), `${title}: ${file}`)
      }
    }
  }
  t.end()
})

t.test('the table of paths counts their steps', (t) => {
  const rows = [...text.matchAll(/^\| (.+?) +\| (\d+) +\|$/gm)].map(([, title, count]) => [title, Number(count)])
  t.same(
    rows,
    sections.filter(({ hops }) => hops.length > 0).map(({ title, hops }) => [title, hops.length]),
  )
  t.end()
})

const documents = globSync(
  ['docs/*.md', '{dev,kernel,config-schema,create-plinth,migrations}/README.md', '{plugins,examples}/*/README.md'],
  {
    cwd: root,
  },
)

t.test('files that documents name exist', (t) => {
  const path = /`((?:src|plugins|kernel|examples|scripts|bench|test)\/[\w./-]+\.(?:ts|tsx|mjs))`/g
  for (const document of documents.filter((name) => !name.startsWith('docs/requirements'))) {
    for (const [, file = ''] of readFileSync(join(root, document), 'utf8').matchAll(path)) {
      t.ok(existsSync(join(root, dirname(document), file)) || existsSync(join(root, file)), `${document}: ${file}`)
    }
  }
  t.end()
})

t.test('decisions that comments cite are on the page of decisions, in both languages', (t) => {
  const sources = globSync('{config-schema,kernel,migrations,plugins/*,examples/*}/**/*.{ts,tsx,md}', {
    cwd: root,
    exclude: ['**/node_modules', '**/dist'],
  })
  const text = sources.map((file) => readFileSync(join(root, file), 'utf8')).join('\n')
  const cited = [...text.matchAll(/\bdecisions?[\s*]+([A-G]\d+)(?:,\s([A-G]\d+))?/g)].flatMap(([, ...ids]) => ids)
  const expected = [...new Set(cited.filter((id) => id !== undefined))].sort()
  t.ok(expected.length > 50)
  for (const page of ['docs/decisions.md', 'docs/zh-CN/decisions.md']) {
    const listed = [...readFileSync(join(root, page), 'utf8').matchAll(/^\| ([A-G]\d+) \|/gm)].map(([, id]) => id)
    t.same(listed.toSorted(), expected, page)
  }
  t.end()
})

t.test('examples in documents add routes without the name of a plugin', (t) => {
  for (const document of documents) {
    const calls = readFileSync(join(root, document), 'utf8').match(/\.?\b(?:route|rawRoute)\((?:'|plugin\b)/g) ?? []
    t.same(calls, [], document)
  }
  t.end()
})

/** Returns the cells of each row of a generated page, preceded by the heading above the row. */
function rowsOf(page: string): string[][] {
  let heading = ''
  return page.split('\n').flatMap((line) => {
    heading = /^## (.+)$/.exec(line)?.[1] ?? heading
    const cells = line.split(/(?<!\\)\|/).slice(1, -1)
    const [first = '', ...others] = cells.map((cell) => cell.trim())
    const code = /^`(.+)`$/.exec(first)?.[1]
    return code === undefined ? [] : [[heading, code, ...others]]
  })
}

t.test('C-046 every change set is in a document, by plugin and in the order in which it is applied', async (t) => {
  const page = readFileSync(join(root, 'docs/migrations.md'), 'utf8')
  const rows = rowsOf(page)
  for (const dialect of dialects) {
    const here = rows.filter(([, , , databases]) => databases === 'all' || databases?.split(', ').includes(dialect))
    t.same(
      here.map(([plugin, id]) => `${plugin} ${id}`),
      compileChangeSets(changeSetsIn(product), dialect).map(({ plugin, id }) => `${plugin} ${id}`),
      dialect,
    )
  }
  const described = new Set(rows.map(([plugin]) => plugin))
  const bringing = product.plugins.filter(({ migrations = [] }) => migrations.length > 0)
  t.ok(bringing.length > 15)
  for (const { id } of bringing) t.ok(described.has(id), `the plugin ${id}`)
  const ids = new Set(rows.map(([, id]) => id))
  const files = globSync('plugins/*/src/**/migrations/[0-9]*.ts', { cwd: root })
  t.ok(files.length > 30)
  for (const file of files) t.ok(ids.has(basename(file, '.ts')), file)
  for (const [plugin, id, deeds] of rows) t.match(deeds, /\w/, `what ${plugin} ${id} does`)
  t.equal(page, migrationPage(product, 'en'), 'npm run generate')
})

t.test('C-046 every permission is in a document with both names', async (t) => {
  const declared = product.plugins.flatMap(({ id, permissions = [] }) =>
    permissions.map(({ code, displayName }) => [id, code, localize(displayName, 'en'), localize(displayName, 'zh-CN')]),
  )
  t.ok(declared.length > 40)
  const isGuard = ([section]: readonly string[]) => section === 'Keys that need a permission'
  const isOperation = ([section = '']: readonly string[]) => section.startsWith('Operations that need')
  const page = readFileSync(join(root, 'docs/permissions.md'), 'utf8')
  const rows = rowsOf(page)
  t.same(
    rows.filter((row) => !isGuard(row) && !isOperation(row)),
    declared,
  )
  const guards = product.plugins
    .flatMap(({ config = {} }) => Object.entries(config))
    .flatMap(([key, { permission }]) => (permission === undefined ? [] : [`${permission} \`${key}\``]))
  t.same(
    rows.filter(isGuard).map(([, permission, key]) => `${permission} ${key}`),
    guards.sort(),
  )
  t.equal(
    page,
    permissionPage(product, JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8'))),
    'npm run generate',
  )
})

t.test('C-046 every text key is on the page of the texts', async (t) => {
  const documented = new Set(rowsOf(textPage(product)).map(([plugin, key]) => `${plugin} ${key}`))
  const keys = product.plugins.flatMap(({ id, messages }) =>
    [...flattenMessages(messages?.en ?? {}).keys(), ...flattenMessages(messages?.['zh-CN'] ?? {}).keys()].map(
      (key) => `${id} ${key}`,
    ),
  )
  t.ok(keys.length > 2_000)
  t.same([...documented].sort(), [...new Set(keys)].sort())
})
