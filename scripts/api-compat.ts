import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync, symlinkSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

export interface PublicModule {
  readonly name: string
  /** Folder of the package in the repository. */
  readonly folder: string
  /** Source files that it is imported by, from without and from within: `./src/index.ts`. */
  readonly entries: readonly string[]
}

export interface Finding {
  readonly kind: 'binary' | 'source' | 'new'
  /** Package and subpath. */
  readonly module: string
  readonly detail: string
}

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly workspaces?: readonly string[]
  readonly exports?: Readonly<Record<string, { readonly types: string; readonly default: string }>>
  readonly imports?: Readonly<Record<string, { readonly default: string }>>
}

const manifestOf = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

/** Every package of the repository that is published, by name. */
export function publicModules(root: string): PublicModule[] {
  const folders = globSync([...(manifestOf(root).workspaces ?? [])], { cwd: root })
  return folders
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .map((folder) => ({ folder, manifest: manifestOf(join(root, folder)) }))
    .filter(({ manifest }) => manifest.private !== true)
    .map(({ folder, manifest: { name, exports, imports } }) => ({
      name,
      folder,
      entries: Object.values({ ...exports, ...imports }).map((entry) => entry.default),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Fetches and unpacks the previous release into a temporary directory, outside the repository. */
export async function unpackPrevious(root: string, modules: readonly PublicModule[], version: string): Promise<string> {
  const run = promisify(execFile)
  const directory = await mkdtemp(join(tmpdir(), 'plinth-api-compat-'))
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  for (const { name } of modules) {
    const target = join(directory, name)
    await run('mkdir', ['-p', target])
    try {
      const { stdout } = await run('npm', ['pack', `${name}@${version}`, '--json', '--pack-destination', directory])
      const [packed] = Object.values(JSON.parse(stdout) as Record<string, { filename: string }>)
      const file = packed?.filename.replace('@', '').replace('/', '-') ?? ''
      await run('tar', ['-xzf', join(directory, file), '-C', target, '--strip-components=1'])
    } catch (error) {
      // No such release: the module is new. Anything else must not pass for that.
      if (!/\bE404\b|notarget/i.test(String((error as { stderr?: string }).stderr))) throw error
    }
  }
  return directory
}

/**
 * Compares the build in each package's `dist` with the previous packages.
 *
 * @param previous directory with one unpacked package per name
 */
export async function compareModules(
  root: string,
  modules: readonly PublicModule[],
  previous: string,
): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const { name, folder } of modules) {
    const before = join(previous, name)
    if (!existsSync(join(before, 'package.json'))) {
      findings.push({ kind: 'new', module: name, detail: 'added after the previous release: new public API' })
      continue
    }
    const now = join(root, folder)
    const currentExports = manifestOf(now).exports ?? {}
    for (const [subpath, entry] of Object.entries(manifestOf(before).exports ?? {})) {
      const module = subpath === '.' ? name : `${name}${subpath.slice(1)}`
      const current = currentExports[subpath]
      if (current === undefined) {
        findings.push({ kind: 'binary', module, detail: 'the subpath is gone' })
        continue
      }
      const built = asBuilt(current)
      const gone = await lostExports(join(before, entry.default), join(now, built.default))
      for (const lost of gone) findings.push({ kind: 'binary', module, detail: `export "${lost}" is gone` })
      if (declarations(join(before, entry.types)) !== declarations(join(now, built.types))) {
        findings.push({ kind: 'source', module, detail: `declarations changed: ${entry.types}` })
      }
    }
  }
  return findings
}

/** In the repository the exports point at the sources; published they point at the build. */
const asBuilt = ({ types, default: code }: { readonly types: string; readonly default: string }) => ({
  types: types.replace(/^\.\/src\/(.+?)\.ts$/, './dist/$1.d.ts'),
  default: code.replace(/^\.\/src\/(.+?)\.ts$/, './dist/$1.js'),
})

async function lostExports(before: string, now: string): Promise<string[]> {
  const names = async (file: string) => Object.keys(await import(pathToFileURL(file).href))
  const kept = new Set(await names(now))
  return (await names(before)).filter((name) => !kept.has(name))
}

/** The text of a declaration file and of those that it exports from, without comments and blanks. */
function declarations(file: string, seen = new Set<string>()): string {
  if (seen.has(file) || !existsSync(file)) return ''
  seen.add(file)
  const text = readFileSync(file, 'utf8')
  const bare = text
    .replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
    .replace(/\s+/g, ' ')
    .trim()
  const nested = [...text.matchAll(/from '(\.[^']+)'/g)].map(([, path = '']) =>
    declarations(join(file, '..', path.replace(/\.(ts|js)$/, '.d.ts')), seen),
  )
  return [bare, ...nested].join('\n')
}
