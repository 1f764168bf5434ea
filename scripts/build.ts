/**
 * `npm run build`: JavaScript, declarations and source maps of every package that is published, in its folder `dist`. Further
 * words go to the compiler. Its declarations are those of all packages as one program: compiled one by one they took five times
 * the time, because each reads the types of its libraries and of the others again. A package finds the others by their names
 * either way.
 */
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { publicModules } from './api-compat.ts'
import { writePublished } from './package-modules.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const output = join(root, '.build')
/** In a `dist`, made by a build of their own that knows whether they are current; a product that runs here may serve them. */
const pagesOfBrowser = 'web'

/** Copies the declarations. Their maps name the sources as seen from where the compiler wrote them. */
function copyDeclarations(folder: string): void {
  const from = join(output, folder, 'src')
  for (const file of globSync('**/*.d.ts{,.map}', { cwd: from })) {
    const path = join(root, folder, 'dist', file)
    mkdirSync(dirname(path), { recursive: true })
    const text = readFileSync(join(from, file), 'utf8')
    writeFileSync(path, file.endsWith('.map') ? pointedToSource(text, join(root, folder), path) : text)
  }
}

function pointedToSource(text: string, folder: string, path: string): string {
  const map: { sources: string[] } = JSON.parse(text)
  const within = relative(join(folder, 'dist'), dirname(path))
  map.sources = map.sources.map((source) =>
    join(relative(dirname(path), join(folder, 'src')), within, basename(source)).replaceAll('\\', '/'),
  )
  return JSON.stringify(map)
}

rmSync(output, { recursive: true, force: true })
const { status } = spawnSync(
  join(root, 'node_modules', '.bin', 'tsc'),
  ['-p', 'tsconfig.build.json', ...process.argv.slice(2)],
  {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  },
)
if (status === 0) {
  for (const { folder, entries } of publicModules(root)) {
    const target = join(root, folder, 'dist')
    for (const file of globSync('*', { cwd: target, exclude: [pagesOfBrowser] }))
      rmSync(join(target, file), { recursive: true, force: true })
    await writePublished(join(root, folder), entries, target)
    copyDeclarations(folder)
  }
}
rmSync(output, { recursive: true, force: true })
process.exitCode = status ?? 1
