/**
 * `npm run build`: JavaScript, declarations and source maps of every package that is published, in its folder `dist`. Further
 * words go to the compiler. All packages are one program: compiled one by one they took five times the time, because each
 * reads the types of its libraries and of the others again. A package finds the others by their names either way.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { publicModules } from './api-compat.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const output = join(root, '.build')
/** In a `dist`, made by a build of their own that knows whether they are current; a product that runs here may serve them. */
const pagesOfBrowser = 'web'

/** Maps name their sources as seen from where the compiler wrote them. */
function pointToSources(folder: string): void {
  for (const file of globSync('dist/**/*.map', { cwd: folder })) {
    const path = join(folder, file)
    const map: { sources: string[] } = JSON.parse(readFileSync(path, 'utf8'))
    const within = relative(join(folder, 'dist'), dirname(path))
    map.sources = map.sources.map((source) =>
      join(relative(dirname(path), join(folder, 'src')), within, basename(source)).replaceAll('\\', '/'),
    )
    writeFileSync(path, JSON.stringify(map))
  }
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
  for (const { folder } of publicModules(root)) {
    const target = join(root, folder, 'dist')
    for (const file of globSync('*', { cwd: target, exclude: [pagesOfBrowser] }))
      rmSync(join(target, file), { recursive: true, force: true })
    cpSync(join(output, folder, 'src'), target, { recursive: true })
    pointToSources(join(root, folder))
  }
}
rmSync(output, { recursive: true, force: true })
process.exitCode = status ?? 1
