/**
 * Program of `npm run build`. It writes JavaScript, declarations and source maps of each published package into the
 * folder `dist` of the package. Other arguments are passed to the compiler. The declarations of all packages are
 * compiled as one program. Compiling packages one by one takes five times as long, because each compilation reads the
 * types of other packages and libraries again.
 */
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { publicModules } from './api-compat.ts'
import { writePublished } from './package-modules.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const output = join(root, '.build')
/**
 * Folder in `dist` that this build does not remove. The build of the browser pages updates it, and a running product
 * may serve its files.
 */
const browserPages = 'web'

/** Copies the declarations, and changes the paths in their source maps so that they are relative to the new folder. */
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
/** Runs the compiler. Returns its exit code. */
const compile = (...words: readonly string[]) =>
  spawnSync(join(root, 'node_modules', '.bin', 'tsc'), [...words, ...process.argv.slice(2)], {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  }).status
// The inbox element runs in browsers, so it is compiled with the types of browsers.
const status = compile('-p', 'tsconfig.build.json') || compile('-p', 'inbox-element/tsconfig.build.json')
if (status === 0) {
  for (const { folder, entries } of publicModules(root)) {
    const target = join(root, folder, 'dist')
    for (const file of globSync('*', { cwd: target, exclude: [browserPages] }))
      rmSync(join(target, file), { recursive: true, force: true })
    await writePublished(join(root, folder), entries, target)
    copyDeclarations(folder)
  }
}
rmSync(output, { recursive: true, force: true })
process.exitCode = status ?? 1
