/**
 * Checks the versions in the manifests: ranges for packages of this repository, and exact versions for all other
 * packages.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { kernelVersion } from '@plinth/kernel/host'
import t from 'tap'
import { nativePackagePage, nativePackages } from '../scripts/native-packages.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const manifests = globSync(
  '{.,client,inbox-element,config-schema,create-plinth,dev,kernel,migrations,plugins/*,examples/*}/package.json',
  {
    cwd: root,
  },
)

t.test('packages of this repository have ranges, so that patch releases fit together; all others are exact', (t) => {
  t.ok(manifests.length > 50)
  for (const file of manifests) {
    const { dependencies, peerDependencies, optionalDependencies, devDependencies } = JSON.parse(read(file))
    const versions: Record<string, string> = {
      ...dependencies,
      ...peerDependencies,
      ...optionalDependencies,
      ...devDependencies,
    }
    for (const [name, version] of Object.entries(versions)) {
      if (/^@plinth(-example)?\//.test(name)) t.equal(version, `^${kernelVersion}`, `${file}: ${name}`)
      else t.match(version, /^\d+\.\d+\.\d+$/, `${file}: ${name}`)
    }
  }
  t.end()
})

t.test('drivers of database servers are optional, and the guides name their versions', (t) => {
  const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(read('plugins/database/package.json'))
  for (const type of ['postgresql', 'mysql', 'mariadb']) {
    const name = `@mikro-orm/${type}`
    t.same(peerDependenciesMeta[name], { optional: true })
    t.equal(peerDependencies[name], dependencies['@mikro-orm/core'])
    for (const file of ['docs/integrator.md', 'plugins/database/README.md'])
      t.match(read(file), `${name}@${peerDependencies[name]}\``, file)
  }
  t.match(
    read('docs/operations/deployment.md'),
    `npm install @mikro-orm/postgresql@${dependencies['@mikro-orm/core']}\``,
  )
  t.end()
})

t.test('the page of native packages contains all of them, with the systems of their files', (t) => {
  const found = new Map(nativePackages(root).map(({ name, prebuilt }) => [name, Object.fromEntries(prebuilt)]))
  t.same([...found.keys()], ['better-sqlite3', 'msgpackr-extract', 'secp256k1'])
  t.same(found.get('better-sqlite3'), {
    glibc: ['arm64', 'x64'],
    musl: ['arm64', 'x64'],
    macOS: ['arm64', 'x64'],
    Windows: ['arm64', 'x64'],
  })
  t.same(found.get('msgpackr-extract')?.['musl'], ['arm', 'arm64', 'x64'])
  t.same(found.get('secp256k1'), { glibc: ['x64'], musl: ['x64'], macOS: ['arm64'], Windows: ['x64'] })
  t.equal(read('docs/native-packages.md'), nativePackagePage(root, 'en'), 'npm run generate')
  t.end()
})
