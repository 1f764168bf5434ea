import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')
const text = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
const sections = text.split(/^## /m).map((section) => ({
  title: section.slice(0, section.indexOf('\n')),
  hops: section.match(/^\d+\. .+$/gm) ?? [],
}))

t.test('every hop of a journey names a file that exists', (t) => {
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

t.test('the table of journeys counts their hops', (t) => {
  const rows = [...text.matchAll(/^\| (.+?) +\| (\d+) +\|$/gm)].map(([, title, count]) => [title, Number(count)])
  t.same(
    rows,
    sections.filter(({ hops }) => hops.length > 0).map(({ title, hops }) => [title, hops.length]),
  )
  t.end()
})

const documents = globSync(
  ['docs/*.md', '{kernel,config-schema,migrations}/README.md', '{plugins,examples}/*/README.md'],
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

t.test('examples in documents add routes without the name of a plugin', (t) => {
  for (const document of documents) {
    const calls = readFileSync(join(root, document), 'utf8').match(/\.?\b(?:route|rawRoute)\((?:'|plugin\b)/g) ?? []
    t.same(calls, [], document)
  }
  t.end()
})
