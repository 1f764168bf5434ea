/** Checks that each package declares the licence of the repository. */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')
const read = (...path: string[]) => readFileSync(join(root, ...path), 'utf8')
const manifests = globSync('{.,config-schema,create-plinth,dev,kernel,migrations,plugins/*,examples/*}/package.json', {
  cwd: root,
})
const licence = read('LICENSE')

t.test('each package has the licence of the repository', (t) => {
  t.ok(manifests.length > 40)
  t.match(licence, /^MIT License\n\nCopyright \(c\) \d{4} The Plinth authors\n/)
  for (const file of manifests) {
    const manifest = JSON.parse(read(file))
    t.equal(manifest.license, 'MIT', file)
    t.equal(manifest.author, 'The Plinth authors', file)
    if (manifest.private) continue
    t.equal(read(dirname(file), 'LICENSE'), licence, `${dirname(file)}/LICENSE`)
    t.ok(manifest.keywords.includes('plinth') && manifest.keywords.length > 1, `keywords of ${file}`)
  }
  t.end()
})

t.test('no manifest contains an address that nobody has configured', (t) => {
  for (const file of manifests) {
    const { repository, bugs, homepage } = JSON.parse(read(file))
    t.strictSame({ repository, bugs, homepage }, { repository: undefined, bugs: undefined, homepage: undefined }, file)
  }
  t.end()
})
