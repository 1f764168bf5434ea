/**
 * Bundles libraries of many files, so that the hundreds of processes of a test run find each of them in a few: loading
 * modules one by one is most of what a process costs. `fast-imports.mjs` makes a process load them from here.
 *
 * What is bundled is what is installed, with the names that Node.js would give it. Only libraries that neither look for
 * files beside themselves nor are told apart by where they were loaded from.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'
import { isMadeFrom, replaceBundle, root } from './bundle-folder.mjs'

/** As they are imported. Another path into one of their packages is an error when it is imported. */
const libraries = [
  '@fastify/helmet',
  '@mikro-orm/core',
  '@mikro-orm/mariadb',
  '@mikro-orm/mysql',
  '@mikro-orm/postgresql',
  '@mikro-orm/sql',
  '@mikro-orm/sqlite',
  'ajv',
  'ajv/dist/2020.js',
  'ajv-formats',
  'bullmq',
  'commander',
  '@fastify/swagger',
  'fastify',
  'find-my-way',
  'i18next',
  'ioredis',
  'kysely',
  'pino',
  'prom-client',
  'semver',
  'semver/functions/satisfies.js',
  'semver/functions/valid.js',
  'semver/ranges/valid.js',
  'tap',
  'typebox',
  'typebox/value',
  'undici',
  'ws',
  'yaml',
]
/** Which workspace imports a library, where that has a version of its own. */
const importers = { undici: 'plugins/outgoing-http' }
/** With native parts, or with threads that run a file of theirs. */
const omitted = [
  /^better-sqlite3$/,
  /^pg$/,
  /^pg-native$/,
  /^mysql2(?:\/|$)/,
  /^mariadb$/,
  /^pino-pretty$/,
  /^thread-stream$/,
  /^msgpackr/,
  /^bufferutil$/,
  /^utf-8-validate$/,
]

/** How parts of tap keep each test for ever, and with it the product that it has started. */
const keepsTests = 'static #refs = new Map()'

const bundle = join(root, '.tap/libraries')
/** Tests of what is loaded look for the name in the path, and tap leaves what lies in this folder out of its stacks. */
const nameOf = (library) => `node_modules/${library === 'tap' ? '@tapjs/tap' : library}/index`

/** Changes with everything that the bundle is made from. */
function keyOf() {
  const sources = [fileURLToPath(import.meta.url), join(root, 'node_modules/.package-lock.json')]
  const hash = createHash('sha256').update(process.version)
  for (const file of sources) hash.update(readFileSync(file))
  return hash.digest('hex')
}

function urlOf(library) {
  const importer = importers[library]
  if (importer === undefined) return import.meta.resolve(library)
  return pathToFileURL(createRequire(join(root, importer, 'package.json')).resolve(library)).href
}

/** A module that exports what Node.js exports when the library is imported; of CommonJS it guesses which names there are. */
async function entryOf(url) {
  const path = JSON.stringify(fileURLToPath(url))
  const exported = await import(url)
  const isCommonJs = 'module.exports' in exported
  if (!isCommonJs) {
    const main = 'default' in exported ? `export { default } from ${path}\n` : ''
    return { isCommonJs, text: `export * from ${path}\n${main}` }
  }
  const names = Object.keys(exported).filter((name) => name !== 'default' && name !== 'module.exports')
  const lines = names.map((name, index) => {
    const quoted = JSON.stringify(name)
    return `const name${index} = main[${quoted}]\nexport { name${index} as ${quoted} }`
  })
  const words = [`import main from ${path}`, 'export default main', `export { main as 'module.exports' }`, ...lines]
  return { isCommonJs, text: words.join('\n') }
}

/**
 * Makes the bundle, unless it is there and made from what is installed now: in a process of its own, because all is imported.
 *
 * @returns {boolean} false when it could not be made: tests take the installed libraries then, and more time
 */
export function bundleLibraries() {
  if (isMadeFrom(bundle, keyOf())) return true
  const { status } = spawnSync(process.execPath, [fileURLToPath(import.meta.url)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (status !== 0) console.error('The libraries are not bundled: each test file loads them one by one.')
  return status === 0
}

async function make(draft) {
  const entries = new Map()
  const bundled = {}
  for (const library of libraries) {
    const url = urlOf(library)
    const { isCommonJs, text } = await entryOf(url)
    entries.set(`entry:${library}`, text)
    bundled[url] = { file: `${nameOf(library)}.mjs`, isCommonJs }
  }
  let isTapFound = false
  const made = await rolldown({
    input: Object.fromEntries(libraries.map((library) => [nameOf(library), `entry:${library}`])),
    cwd: root,
    platform: 'node',
    treeshake: false,
    external: omitted,
    logLevel: 'silent',
    // One that lies above the house is none of ours.
    tsconfig: false,
    plugins: [
      {
        name: 'entries',
        resolveId: (id) => (entries.has(id) ? id : null),
        load: (id) => entries.get(id) ?? null,
      },
      {
        name: 'forgotten tests',
        transform(code, id) {
          if (!id.includes('/@tapjs/') || !code.includes(keepsTests)) return null
          isTapFound = true
          return code.replace(keepsTests, 'static #refs = new WeakMap()')
        },
      },
    ],
  })
  await made.write({
    dir: draft,
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
  })
  await made.close()
  if (!isTapFound) throw new Error(`tap has no line any more like ${keepsTests}`)
  const packages = [
    ...new Set(Object.keys(bundled).map((url) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+\//.exec(url)[0])),
  ]
  return { packages, bundled }
}

if (import.meta.main) {
  await replaceBundle(bundle, keyOf(), make)
  // What was imported may have something open.
  process.exit(0)
}
