/**
 * Bundles the packages of this house, each by itself, so that the hundreds of processes of a test run find the twelve hundred
 * source files of a product in a hundred. `fast-imports.mjs` makes a process load them from here, but for the package that
 * is tested: its tests import its sources.
 */
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isMadeFrom, replaceBundle, root } from './bundle-folder.mjs'
import { bundlePackage, moduleName } from './package-modules.ts'

const bundle = join(root, '.tap/packages')
const manifestOf = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

/** Their folders, and the source files that are imported by a name. */
const packages = globSync(manifestOf(root).workspaces, { cwd: root })
  .filter((home) => existsSync(join(root, home, 'package.json')))
  .map((home) => ({ home: home.replaceAll('\\', '/'), manifest: manifestOf(join(root, home)) }))
  .filter(({ manifest }) => manifest.private !== true)
  .map(({ home, manifest: { exports = {}, imports = {} } }) => ({
    home,
    entries: [...Object.values(exports), ...Object.values(imports)].map((entry) => entry.default),
  }))

/** Changes with everything that the bundle is made from. */
function keyOf() {
  const hash = createHash('sha256').update(process.version)
  const makers = [import.meta.url, import.meta.resolve('./package-modules.ts')].map((url) => fileURLToPath(url))
  for (const file of [...makers, join(root, 'node_modules/.package-lock.json')]) hash.update(readFileSync(file))
  for (const { home, entries } of packages) {
    hash.update(JSON.stringify([home, entries]))
    for (const file of globSync('{package,src/**/*}.{json,ts}', { cwd: join(root, home) }).sort())
      hash.update(file).update(readFileSync(join(root, home, file)))
  }
  return hash.digest('hex')
}

/** A module that asks where it lies gets the place of its source, and finds what lies beside that. */
const places = {
  name: 'places',
  transform: (code, id) =>
    code.includes('import.meta.')
      ? code
          .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
          .replaceAll('import.meta.dirname', JSON.stringify(dirname(id)))
      : null,
}

/**
 * Where Node.js finds what a package imports by name: `plugins/mail nodemailer` and its URL. One that is not installed is not in it.
 *
 * @param {ReadonlySet<string>} names as the packages import them, each behind the folder of its package
 */
function resolvedNames(names) {
  const requested = 'of-package:'
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (!specifier.startsWith(requested)) return next(specifier, context)
      const [home, name] = specifier.slice(requested.length).split(' ')
      return next(name, { ...context, parentURL: pathToFileURL(join(root, home, 'package.json')).href })
    },
  })
  const urls = {}
  for (const name of names) {
    try {
      urls[name] = import.meta.resolve(requested + name)
    } catch {}
  }
  hooks.deregister()
  return urls
}

async function make(draft) {
  const bundled = {}
  const names = new Set()
  await Promise.all(
    packages.map(async ({ home, entries }) => {
      const folder = join(root, home)
      await bundlePackage({
        folder,
        entries,
        plugin: places,
        output: {
          dir: join(draft, home),
          entryFileNames: '[name].mjs',
          chunkFileNames: '[name]-[hash].mjs',
        },
        onExternal: (name) => names.add(`${home} ${name}`),
      })
      for (const entry of entries) bundled[pathToFileURL(join(folder, entry)).href] = `${home}/${moduleName(entry)}.mjs`
    }),
  )
  return { bundled, names: resolvedNames(names) }
}

/**
 * Makes the bundle, unless it is there and made from the sources as they are now.
 *
 * @returns {Promise<boolean>} false when it could not be made, as of a source that cannot be parsed
 */
export async function bundlePackages() {
  const key = keyOf()
  try {
    if (!isMadeFrom(bundle, key)) await replaceBundle(bundle, key, make)
    return true
  } catch (error) {
    console.error(`The packages are not bundled: each process loads their sources one by one. ${error.message}`)
    return false
  }
}

if (import.meta.main) await bundlePackages()
