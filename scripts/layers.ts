/**
 * Defines the layers of this repository and checks imports. Lint runs it: `node scripts/layers.ts`. A package may
 * import only packages of lower layers, and only by name. It must not import values of TypeBox, because loading its many
 * modules is slow. Tests may import everything.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

interface Layer {
  readonly name: string
  /** Packages of the layer, from the lowest to the highest. */
  readonly packages: readonly string[]
}

export const layers: readonly Layer[] = [
  { name: 'ground', packages: ['config-schema', 'kernel', 'migrations'] },
  {
    name: 'platform',
    packages: [
      'i18n',
      'site',
      'admin',
      'http',
      'outgoing-http',
      'database',
      'table',
      'coordination',
      'shared-store',
      'events',
      'scheduler',
      'storage',
      'storage-s3',
      'opentelemetry',
      'mail',
      'sms',
    ],
  },
  {
    name: 'identity and operations',
    packages: [
      'rate-limit',
      'rate-limit-stores',
      'system-config',
      'idempotency',
      'iam',
      // Tasks belong to users and are removed with them, so this package depends on `iam`.
      'async-task',
      'resource',
      // Operators with a permission edit templates, so this package depends on `iam`.
      'template',
      'approval',
      'open-platform',
      'authenticators',
    ],
  },
  {
    name: 'capabilities',
    packages: [
      'social',
      'inbox',
      'suppression',
      'notification',
      'digest',
      'notification-rules',
      'notification-channels',
      'delivery-receipts',
      'push',
      'webhook-providers',
      'notification-linkage',
      'money',
      'member-points',
      'web3',
      'wallet-login',
      'sign-in-oidc',
      'web3-settlement',
      'install',
      'backup',
      'quickstart-cleanup',
      'webhooks',
    ],
  },
  { name: 'face', packages: ['console'] },
  { name: 'products', packages: ['presets'] },
  // Development dependencies: no package needs them while a product runs.
  { name: 'development', packages: ['dev', 'create-plinth'] },
]

const order = layers.flatMap(({ packages }) => packages)
const layerOf = (name: string) => layers.find(({ packages }) => packages.includes(name))

/** Matches the path of a file that runs in a browser, and captures the folder with all browser files of its package. */
const browserFile = /^(plugins\/[^/]+\/web)\//
/** Matches an import whose target is known only at run time. */
const computedImport = /\bimport\((?!\s*['"])/

const imported = /^(?:import |export |\} )(?:[^'"\n]*\bfrom )?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm

/** The entry point of the bundle of TypeBox. */
const typeBoxEntry = 'config-schema/src/typebox-builders.ts'
/** Matches an import of TypeBox values. Imports of types are allowed, because they do not exist at run time. */
const typeBoxValue = /^(?:import (?!type )|export (?!type )|\} )[^'"\n]*\bfrom ['"]typebox(?:\/[^'"]*)?['"]/m

/** Returns the forbidden imports of a source file. Each is one sentence. `file` is the path in this repository. */
export function climbingImports(file: string, source: string): readonly string[] {
  const [, folder = '', name = ''] = /^((?:plugins\/)?([^/]+))\//.exec(file) ?? []
  const own = layerOf(name)
  if (own === undefined) return [`${file}: "${name}" stands in no layer of scripts/layers.ts`]
  const problemOf = (target: string) => {
    const [, other] = /^@plinth\/([^/]+)/.exec(target) ?? []
    if (other !== undefined) {
      // Browser pages use only the HTTP API of the server, with the types of its client, so they may import only
      // `client`.
      if (browserFile.test(file))
        return other === 'client' ? undefined : `a page of the browser may not import ${other}`
      const there = layerOf(other)
      const climbs = other !== name && order.indexOf(other) > order.indexOf(name)
      return there === undefined || climbs ? `${name} may not import ${other}` : undefined
    }
    const leaves = (home: string) =>
      target.startsWith('.') && relative(home, join(dirname(file), target)).startsWith('..')
    const [, pages] = browserFile.exec(file) ?? []
    if (pages !== undefined && leaves(pages)) return `${target} leads out of the files of the browser`
    return leaves(folder) ? `${target} leads out of the package` : undefined
  }
  const loads = file !== typeBoxEntry && typeBoxValue.test(source)
  const typeBox = loads
    ? [`${file}: import Type from @plinth/http or @plinth/config-schema/typebox, not from typebox`]
    : []
  const climbing = [...source.matchAll(imported)].flatMap(([, name = '', lazy = name]) => {
    const problem = problemOf(lazy)
    return problem === undefined ? [] : [`${file}: ${problem}`]
  })
  const isUnknown = browserFile.test(file) && computedImport.test(source)
  const computed = isUnknown ? [`${file}: a page of the browser names each file that it imports`] : []
  return [...climbing, ...computed, ...typeBox]
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..')
  const files = globSync(
    ['{config-schema,create-plinth,dev,kernel,migrations,plugins/*}/src/**/*.ts', 'plugins/*/web/**/*.{ts,tsx}'],
    {
      cwd: root,
    },
  )
  const problems = files.sort().flatMap((file) => climbingImports(file, readFileSync(join(root, file), 'utf8')))
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
  else console.log(`${files.length} files import nothing that stands above them`)
}
