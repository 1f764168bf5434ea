/** Tests the pages of `docs/operations/`: their links and files must exist, and their tables must be correct. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import product from '../../examples/quickstart/plinth.config.ts'
import { kernelPlugin } from '../../kernel/src/kernel-plugin.ts'
import { retentionPage } from '../../scripts/retention-page.ts'
import { deployFiles } from './deploy-files.ts'

const root = join(import.meta.dirname, '..', '..')
const pages = globSync('docs/operations/*.md', { cwd: root })
const read = (file: string) => readFileSync(join(root, file), 'utf8')

/** Anchor of a heading, as GitHub creates it. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

const isDeployPath = (path: string) =>
  [...deployFiles.keys()].some((file) => file === path || file.startsWith(`${path.replace(/\/$/, '')}/`))

t.test('links and paths lead to files and headings that exist', async (t) => {
  t.ok(pages.length > 7)
  for (const page of pages) {
    const text = read(page)
    for (const [, target = '', anchor] of text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)) {
      const file = target === '' ? page : join(dirname(page), target)
      t.ok(existsSync(join(root, file)), `${page}: ${target}`)
      if (anchor === undefined) continue
      const anchors = [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))
      t.ok(anchors.includes(anchor), `${page}: ${target}#${anchor}`)
    }
    for (const [, file = ''] of text.matchAll(/`((?:deploy|test|bench|docs|scripts)\/[\w./-]*)`/g))
      t.ok(existsSync(join(root, file)) || isDeployPath(file), `${page}: ${file}`)
  }
})

const keys = Object.assign({}, ...[kernelPlugin, ...product.plugins].map(({ config }) => config))

t.test('keys in the pages exist, and the defaults of the security checklist are correct', async (t) => {
  for (const page of pages) {
    for (const [, key = ''] of read(page).matchAll(/`(platform\.[a-z0-9.-]+)`/g)) t.ok(key in keys, `${page}: ${key}`)
  }
  const rows = [...read('docs/operations/security.md').matchAll(/^\| .+ \| `(platform\.\S+)` \| (.+) \|$/gm)]
  t.ok(rows.length > 10)
  const privateNetworks = JSON.stringify(keys['platform.http.metrics.allowed-clients'].default)
  for (const [, key = '', value = ''] of rows) {
    const expected = value === 'private networks' ? privateNetworks : value.replaceAll('`', '')
    t.equal(JSON.stringify(keys[key].default), expected, key)
  }
})

t.test('the retention page is generated, and describes each table at least once', async (t) => {
  const page = read('docs/operations/retention.md')
  t.equal(page, await retentionPage(product, 'en'), 'npm run generate')
  const created = [...read('docs/migrations.md').matchAll(/creates `(\w+)`/g)].map(([, table]) => table)
  t.ok(created.length > 70)
  for (const table of created) t.match(page, `| \`${table}\` |`)
  t.match(page, /^\| `iam_audit` \| .+ \| 180d \| `platform\.iam\.audit\.retention` \|/m)
})

t.test('the supported versions are those of the packages, the pages and the tests', async (t) => {
  const page = read('docs/operations/versions.md')
  const { engines } = JSON.parse(read('kernel/package.json'))
  t.match(page, `| Node.js | ${engines.node.replace('>=', '')} or later |`)
  const [, target] = /target: 'es(\d+)'/.exec(read('plugins/console/scripts/build-pages.ts')) ?? []
  t.match(page, `with ES${target}`)
  t.match(read('plugins/database/README.md'), 'MySQL must be 8.0.17 or newer')
})
