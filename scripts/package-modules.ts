/**
 * Bundles the JavaScript of a package into a few modules: one for each exported subpath, one for each worker thread,
 * and modules that these share. Loading many small modules would take most of the start time of a process.
 */
import { globSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join, posix, relative, sep } from 'node:path'
import { type OutputOptions, type Plugin, rolldown } from 'rolldown'

interface BundleOptions {
  /** Folder of the package. */
  readonly folder: string
  /** Entry points of the package, in the form of its manifest, for example `./src/index.ts`. */
  readonly entries: readonly string[]
  readonly plugin: Plugin
  readonly output: OutputOptions
  /** Called with the name of each external package that is imported. */
  readonly onExternal?: (name: string) => void
}

/** Returns the name of the module for an entry point: `./src/testing/index.ts` becomes `testing/index`. */
export const moduleName = (entry: string): string => entry.replace(/^\.\/src\//, '').replace(/\.ts$/, '')

/** Bundles one package. Other packages stay imports by name, which Node.js resolves when the module is loaded. */
export async function bundlePackage({ folder, entries, plugin, output, onExternal }: BundleOptions): Promise<void> {
  const made = await rolldown({
    input: Object.fromEntries(entries.map((entry) => [moduleName(entry), join(folder, entry)])),
    cwd: folder,
    platform: 'node',
    treeshake: false,
    external: (id: string) => {
      if (/^(?:\.|\/|[A-Z]:)/.test(id)) return false
      if (!isBuiltin(id)) onExternal?.(id)
      return true
    },
    logLevel: 'silent',
    tsconfig: false,
    plugins: [plugin],
  })
  await made.write({ format: 'esm', keepNames: true, ...output })
  await made.close()
}

const distributed = '__DISTRIBUTED__'

/** Replaces `import.meta.url` with the URL that the module would have without bundling. */
const ownPlace = (source: string): Plugin => ({
  name: 'own place',
  transform(code, id) {
    if (!code.includes('import.meta.')) return null
    if (/import\.meta\.(?!url\b)/.test(code)) this.error(`${id} may use only import.meta.url`)
    const path = relative(source, id).replaceAll(sep, '/').replace(/\.ts$/, '.js')
    return code.replaceAll('import.meta.url', `new URL('${path}', ${distributed}).href`)
  },
  renderChunk(code, { fileName }) {
    if (!code.includes(distributed)) return null
    const way = posix.relative(posix.dirname(`/${fileName}`), '/') || '.'
    return code.replaceAll(distributed, `new URL('${way}/', import.meta.url)`)
  },
})

/** Writes the modules of a package as they are published, with source maps. */
export async function writePublished(folder: string, entries: readonly string[], target: string): Promise<void> {
  // Worker threads are started by URL, so the code of each is a separate file.
  const threads = globSync('src/**/*-worker.ts', { cwd: folder }).map((file) => `./${file.replaceAll('\\', '/')}`)
  await bundlePackage({
    folder,
    entries: [...entries, ...threads],
    plugin: ownPlace(join(folder, 'src')),
    output: { dir: target, sourcemap: true, entryFileNames: '[name].js', chunkFileNames: 'shared/[name].js' },
  })
}
