/**
 * The JavaScript of a package as few modules: one for each name that it is imported by, one for each program of a thread,
 * and what these share. Loading modules one by one is most of what a process takes to start.
 */
import { globSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join, posix, relative, sep } from 'node:path'
import { type OutputOptions, type Plugin, rolldown } from 'rolldown'

interface Wanted {
  /** Folder of the package. */
  readonly folder: string
  /** Source files that are imported by a name, as the manifest has them: `./src/index.ts`. */
  readonly entries: readonly string[]
  readonly plugin: Plugin
  readonly output: OutputOptions
  /** Receives each name of another package that is imported. */
  readonly onExternal?: (name: string) => void
}

/** `./src/testing/index.ts` -> `testing/index`. */
export const moduleName = (entry: string): string => entry.replace(/^\.\/src\//, '').replace(/\.ts$/, '')

/** Other packages stay what they are, by their names: which one it is decides itself when it is loaded. */
export async function bundlePackage({ folder, entries, plugin, output, onExternal }: Wanted): Promise<void> {
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

/** A module that asks where it lies gets the place where it would lie if it were not joined with others. */
const ownPlace = (source: string): Plugin => ({
  name: 'own place',
  transform(code, id) {
    if (!code.includes('import.meta.')) return null
    if (/import\.meta\.(?!url\b)/.test(code)) this.error(`${id} may ask for import.meta.url alone`)
    const path = relative(source, id).replaceAll(sep, '/').replace(/\.ts$/, '.js')
    return code.replaceAll('import.meta.url', `new URL('${path}', ${distributed}).href`)
  },
  renderChunk(code, { fileName }) {
    if (!code.includes(distributed)) return null
    const way = posix.relative(posix.dirname(`/${fileName}`), '/') || '.'
    return code.replaceAll(distributed, `new URL('${way}/', import.meta.url)`)
  },
})

/** Writes the modules that are published of a package, with maps to its sources. */
export async function writePublished(folder: string, entries: readonly string[], target: string): Promise<void> {
  // Loaded by their addresses, beside the module that starts them.
  const threads = globSync('src/**/*-worker.ts', { cwd: folder }).map((file) => `./${file.replaceAll('\\', '/')}`)
  await bundlePackage({
    folder,
    entries: [...entries, ...threads],
    plugin: ownPlace(join(folder, 'src')),
    output: { dir: target, sourcemap: true, entryFileNames: '[name].js', chunkFileNames: 'shared/[name].js' },
  })
}
