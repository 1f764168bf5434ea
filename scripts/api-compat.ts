import { execFile } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { type DeclarationPair, findTypeChanges } from './api-reference/type-changes.ts'

export interface PublicModule {
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
  readonly bin?: string | Readonly<Record<string, string>>
  readonly engines?: Readonly<Record<string, string>>
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
  const pairs: DeclarationPair[] = []
  for (const name of [...before].sort()) {
    const module = modules.find((one) => one.name === name)
    if (module === undefined) problems.push({ kind: 'binary', module: name, detail: 'the package is gone' })
    else problems.push(...(await compareModule(join(root, module.folder), join(previous, name), name, pairs)))
  }
  const known = new Set(problems.map(({ module, detail }) => `${module} ${detail}`))
  problems.push(...findTypeChanges(pairs).filter(({ module, detail }) => !known.has(`${module} ${detail}`)))
  for (const { name } of modules.filter((module) => !before.has(module.name)))
    problems.push({ kind: 'new', module: name, detail: 'added after the previous release: new public API' })
  return problems
}

/** @param pairs receives the declaration files of all modules that are still there */
async function compareModule(
  now: string,
  before: string,
  name: string,
  pairs: DeclarationPair[],
): Promise<readonly Problem[]> {
  const [was, is] = [manifestOf(before), manifestOf(now)]
  const problems: Problem[] = manifestProblems(was, is).map((problem) => ({ ...problem, module: name }))
  const currentExports = is.exports ?? {}
  for (const [subpath, entry] of Object.entries(was.exports ?? {})) {
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
    pairs.push({ module, before: join(before, entry.types), now: join(now, built.types) })
  }
  return problems
}

/** Returns the commands that are gone, and the changed requirements of a package. */
function manifestProblems(was: Manifest, is: Manifest): readonly Omit<Problem, 'module'>[] {
  const commandsOf = ({ name, bin = {} }: Manifest) =>
    typeof bin === 'string' ? [name.replace(/^@[^/]*\//, '')] : Object.keys(bin)
  const left = commandsOf(is)
  const gone = commandsOf(was).filter((command) => !left.includes(command))
  const { engines: before = {} } = was
  const changed = Object.entries(is.engines ?? {}).filter(([engine, range]) => before[engine] !== range)
  return [
    ...gone.map((command) => ({ kind: 'binary', detail: `command "${command}" is gone` }) as const),
    ...changed.map(
      ([engine, range]) =>
        ({ kind: 'source', detail: `needs ${engine} ${range}, not ${before[engine] ?? 'any'}` }) as const,
    ),
  ]
}

/** Converts paths of exports to those of the build. In the repository, exports refer to the sources. */
const asBuilt = ({ types, default: code }: { readonly types: string; readonly default: string }) => ({
  types: types.replace(/^\.\/src\/(.+?)\.ts$/, './dist/$1.d.ts'),
  default: code.replace(/^\.\/src\/(.+?)\.ts$/, './dist/$1.js'),
})

/**
 * Loads the old and the new build. Returns a text for each export, member and value of a list that is missing in the new
 * build, and for each value of another kind.
 */
async function lostMembers(before: string, now: string): Promise<string[]> {
  const load = async (file: string): Promise<Readonly<Record<string, unknown>>> => import(pathToFileURL(file).href)
  const [was, is] = [await load(before), await load(now)]
  return Object.entries(was).flatMap(([name, value]) => {
    if (!(name in is)) return [`export "${name}" is gone`]
    return lostParts(name, value, is[name], new Set())
  })
}

/** @param seen earlier values, because values may refer to each other */
function lostParts(path: string, was: unknown, is: unknown, seen: Set<unknown>): readonly string[] {
  const [before, now] = [kindOf(was), kindOf(is)]
  if (before !== now) return [`"${path}" was ${before}, is ${now}`]
  if (Array.isArray(was) && Array.isArray(is)) {
    const lost = was.filter((value) => kindOf(value) !== 'object' && !is.includes(value))
    return lost.map((value) => `"${path}" has no ${JSON.stringify(value)} any more`)
  }
  if (seen.has(was)) return []
  seen.add(was)
  const kept = new Set(membersOf(is))
  return membersOf(was).flatMap((member) => {
    if (!kept.has(member)) return [`member "${path}.${member}" is gone`]
    if (!isPlain(was) || !isPlain(is)) return []
    return lostParts(`${path}.${member}`, was[member], is[member], seen)
  })
}

const kindOf = (value: unknown) => (value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value)

/** Returns true for an object whose members are data. Instances of classes may compute their members. */
const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && [Object.prototype, null].includes(Object.getPrototypeOf(value))

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
