import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { publicModules } from '../../scripts/api-compat.ts'
import { writePublished } from '../../scripts/package-modules.ts'
import { publishedPaths } from '../../scripts/published-paths.ts'

export const root = join(import.meta.dirname, '../..')
/** Each run has its own copy, because two runs may run at the same time. */
const copy = join(root, 'bench/dist', String(process.pid))

/**
 * Returns the path of a program of this benchmark in JavaScript. `name` is its path in this folder without the
 * extension.
 */
export const javascriptProgram = (name: string) => programAt(join(copy, 'bench/kernel', name))
/** Returns the path of a program of this benchmark in TypeScript. Node.js removes its types at every start. */
export const sourceProgram = (name: string) => programAt(join(import.meta.dirname, name))
/** Returns the path of the JavaScript form of a file. `path` is its path in the repository. */
export const javascriptFile = (path: string) => join(copy, path.replace(/\.ts$/, '.js'))

function programAt(path: string): string {
  return ['.ts', '.js', '.mjs'].map((extension) => path + extension).find(existsSync) ?? path
}

interface Manifest {
  readonly name: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly workspaces?: readonly string[]
}
const manifestOf = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

/**
 * Copies this benchmark, every package in its published form, and the examples as JavaScript to `bench/dist`. Users of
 * published packages and of the compared frameworks run JavaScript, so removing types at the start would distort the
 * comparison. Everything in the copy, including bare Fastify, uses the dependencies that are installed in the
 * repository. Only the compared frameworks come from `bench/node_modules`.
 */
export async function writeJavaScriptCopy(): Promise<void> {
  removeJavaScriptCopy()
  mkdirSync(copy, { recursive: true })
  writeFileSync(join(copy, 'package.json'), '{ "type": "module" }\n')
  copyFolder(import.meta.dirname, join(copy, 'bench/kernel'))
  const published = new Map(publicModules(root).map(({ folder, entries }) => [folder, entries]))
  for (const folder of globSync([...(manifestOf(root).workspaces ?? [])], { cwd: root })) {
    const from = join(root, folder)
    if (!existsSync(join(from, 'package.json'))) continue
    const { name, dependencies = {} } = manifestOf(from)
    const entries = published.get(folder)
    if (entries === undefined) copyFolder(from, join(copy, folder))
    else await copyPackage(from, entries, join(copy, folder))
    link(join(copy, folder), name)
    for (const dependency of Object.keys(dependencies)) {
      if (dependency.startsWith('@plinth')) continue
      const places = [join(from, 'node_modules', dependency), join(root, 'node_modules', dependency)]
      const installed = places.find(existsSync)
      if (installed !== undefined) link(installed, dependency)
    }
  }
}

export function removeJavaScriptCopy(): void {
  rmSync(copy, { recursive: true, force: true })
}

function link(target: string, name: string): void {
  const path = join(copy, 'node_modules', name)
  mkdirSync(dirname(path), { recursive: true })
  if (!existsSync(path)) symlinkSync(target, path)
}

const notPublished = new Set(['node_modules', 'dist', 'src', 'test', 'web', 'scripts'])

async function copyPackage(from: string, entries: readonly string[], to: string): Promise<void> {
  cpSync(from, to, { recursive: true, filter: (path) => dirname(path) !== from || !notPublished.has(basename(path)) })
  const manifest = join(to, 'package.json')
  writeFileSync(manifest, publishedPaths(readFileSync(manifest, 'utf8')))
  await writePublished(from, entries, join(to, 'dist'))
}

const omitted = new Set(['node_modules', 'dist', 'test', 'data', '.env'])

function copyFolder(from: string, to: string): void {
  cpSync(from, to, { recursive: true, filter: (path) => path === from || !omitted.has(basename(path)) })
  for (const file of globSync('**/*.{ts,mjs}', { cwd: to })) {
    const text = readFileSync(join(to, file), 'utf8')
    rmSync(join(to, file))
    const javascript = file.endsWith('.ts') ? stripTypeScriptTypes(text) : text
    writeFileSync(join(to, file.replace(/\.ts$/, '.js')), withJavaScriptPaths(javascript))
  }
  const manifest = join(to, 'package.json')
  if (existsSync(manifest)) writeFileSync(manifest, withJavaScriptPaths(readFileSync(manifest, 'utf8')))
}

/** Changes quoted relative paths to those of the JavaScript files. */
const withJavaScriptPaths = (text: string) => text.replace(/(['"])(\.{1,2}\/[^'"\n]*)\.ts\1/g, '$1$2.js$1')

/** Returns the path of a program relative to the repository, for messages. */
export const relativePathOf = (program: string) => relative(root, program)
