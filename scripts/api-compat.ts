import { execFile } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

interface PublicModule {
  readonly name: string
  /** Folder of the package in the repository. */
  readonly folder: string
  /** Source files of all exported subpaths, public and internal: `./src/index.ts`. */
  readonly entries: readonly string[]
}

interface Problem {
  readonly kind: 'binary' | 'source' | 'new'
  /** Package and subpath. */
  readonly module: string
  readonly detail: string
}

/** Error if the packages cannot be compared. Its message explains what to do. */
export class ReleaseError extends Error {}

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly workspaces?: readonly string[]
  readonly exports?: Readonly<Record<string, { readonly types: string; readonly default: string }>>
  readonly imports?: Readonly<Record<string, { readonly default: string }>>
}

const manifestOf = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

/** Returns every package of the repository that is published. */
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

/**
 * Returns the names of all packages that were ever published. A package that was removed from the repository stays in
 * this list, so that the comparison notices the removal.
 */
export function publishedNames(root: string): readonly string[] {
  const file = join(root, 'scripts', 'published-packages.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : []
}

/** Returns a shell script that compares the previous release of each module with the current build. */
export function comparisonScript(modules: readonly PublicModule[], version: string): string {
  const lines = modules.flatMap(({ name, folder }) => {
    const target = `"$previous/${name}"`
    return [
      `# ${name} (${folder})`,
      `npm pack ${name}@${version} --silent --pack-destination "$previous"`,
      `mkdir -p ${target} && tar -xzf "$previous/${archiveOf(name, version)}" -C ${target} --strip-components=1`,
      `diff -ru -x '*.js' -x '*.map' -x web "$previous/${name}/dist" ${folder}/dist`,
    ]
  })
  return ['previous=$(mktemp -d)', 'npm run build', ...lines].join('\n')
}

/** Returns the name of the file that `npm pack` writes. */
const archiveOf = (name: string, version: string) => `${name.replace('@', '').replace('/', '-')}-${version}.tgz`

/**
 * Downloads the previous release of the packages and unpacks it into a temporary directory outside of the repository. A
 * package without this version is new and is skipped.
 * @throws ReleaseError if the registry cannot be reached, or if no package has this version
 */
export async function unpackPrevious(root: string, names: readonly string[], version: string): Promise<string> {
  const run = promisify(execFile)
  const directory = await mkdtemp(join(tmpdir(), 'plinth-api-compat-'))
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  let found = 0
  for (const name of names) {
    const target = join(directory, name)
    try {
      await run('npm', ['pack', `${name}@${version}`, '--pack-destination', directory], { cwd: root })
    } catch (error) {
      const { stderr } = error as { stderr?: string }
      if (/\bE404\b|\bETARGET\b/.test(String(stderr))) continue
      const [reason = ''] = /npm (?:error|ERR!) code \S+/.exec(String(stderr)) ?? []
      throw new ReleaseError(
        `Cannot fetch ${name}@${version} (${reason}). Check the access to the registry, or set --previous.`,
      )
    }
    mkdirSync(target, { recursive: true })
    await run('tar', ['-xzf', join(directory, archiveOf(name, version)), '-C', target, '--strip-components=1'])
    found++
  }
  if (found === 0) throw new ReleaseError(`No package has a release ${version}. Check --previous-version.`)
  return directory
}

/**
 * Compares the build in each package's `dist` with the previous release.
 * @param previous directory with one unpacked package per name
 * @throws ReleaseError if `previous` is empty or a package is not built
 */
export async function compareModules(
  root: string,
  modules: readonly PublicModule[],
  previous: string,
): Promise<Problem[]> {
  const manifests = globSync('{*,@*/*}/package.json', { cwd: previous, exclude: ['node_modules/**'] })
  const before = new Set(manifests.map((file) => dirname(file).replaceAll('\\', '/')))
  if (before.size === 0) throw new ReleaseError(`${previous} contains no unpacked packages.`)
  const problems: Problem[] = []
  for (const name of [...before].sort()) {
    const module = modules.find((one) => one.name === name)
    if (module === undefined) problems.push({ kind: 'binary', module: name, detail: 'the package is gone' })
    else problems.push(...(await compareModule(join(root, module.folder), join(previous, name), name)))
  }
  for (const { name } of modules.filter((module) => !before.has(module.name)))
    problems.push({ kind: 'new', module: name, detail: 'added after the previous release: new public API' })
  return problems
}

async function compareModule(now: string, before: string, name: string): Promise<readonly Problem[]> {
  const problems: Problem[] = []
  const currentExports = manifestOf(now).exports ?? {}
  for (const [subpath, entry] of Object.entries(manifestOf(before).exports ?? {})) {
    const module = subpath === '.' ? name : `${name}${subpath.slice(1)}`
    const current = currentExports[subpath]
    if (current === undefined) {
      problems.push({ kind: 'binary', module, detail: 'the subpath is gone' })
      continue
    }
    const built = asBuilt(current)
    for (const file of [built.default, built.types])
      if (!existsSync(join(now, file)))
        throw new ReleaseError(`${name} is not built: ${file} is missing. Run npm run build.`)
    for (const detail of await lostMembers(join(before, entry.default), join(now, built.default)))
      problems.push({ kind: 'binary', module, detail })
    if (declarations(join(before, entry.types)) !== declarations(join(now, built.types)))
      problems.push({ kind: 'source', module, detail: `declarations changed: ${entry.types}` })
  }
  return problems
}

/** Converts paths of exports to those of the build. In the repository, exports refer to the sources. */
const asBuilt = ({ types, default: code }: { readonly types: string; readonly default: string }) => ({
  types: types.replace(/^\.\/src\/(.+?)\.ts$/, './dist/$1.d.ts'),
  default: code.replace(/^\.\/src\/(.+?)\.ts$/, './dist/$1.js'),
})

/**
 * Loads the old and the new build. Returns a text for each export, and for each member of an exported class, that is
 * missing in the new build.
 */
async function lostMembers(before: string, now: string): Promise<string[]> {
  const load = async (file: string): Promise<Readonly<Record<string, unknown>>> => import(pathToFileURL(file).href)
  const [was, is] = [await load(before), await load(now)]
  return Object.entries(was).flatMap(([name, value]) => {
    if (!(name in is)) return [`export "${name}" is gone`]
    const kept = new Set(membersOf(is[name]))
    return membersOf(value)
      .filter((member) => !kept.has(member))
      .map((member) => `member "${name}.${member}" is gone`)
  })
}

/**
 * Returns the names of the members of an object, or of the methods and accessors of a class, including inherited and
 * static ones.
 */
function membersOf(value: unknown): readonly string[] {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return Object.keys(value)
  if (typeof value !== 'function') return []
  const statics = Object.keys(Object.getOwnPropertyDescriptors(value)).filter(
    (name) => !['length', 'name', 'prototype', 'arguments', 'caller'].includes(name),
  )
  const methods: string[] = []
  for (let part = value.prototype; part && part !== Object.prototype; part = Object.getPrototypeOf(part))
    methods.push(...Object.getOwnPropertyNames(part).filter((name) => name !== 'constructor'))
  return [...statics, ...methods.map((name) => `prototype.${name}`)]
}

/** Returns the text of a declaration file and of all declaration files that it imports, without comments and blanks. */
function declarations(file: string, seen = new Set<string>()): string {
  if (seen.has(file) || !existsSync(file)) return ''
  seen.add(file)
  const text = readFileSync(file, 'utf8')
  const bare = text
    .replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
    .replace(/\s+/g, ' ')
    .trim()
  const nested = [...text.matchAll(/(?:\bfrom|\bimport\()\s*(['"])(\.[^'"]+)\1/g)].map(([, , path = '']) =>
    declarations(join(file, '..', path.replace(/\.(ts|js)$/, '.d.ts')), seen),
  )
  return [bare, ...nested].join('\n')
}
