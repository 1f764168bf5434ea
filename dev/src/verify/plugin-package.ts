import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { mkdir, rename, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { errorReason, isPlinthError, type Plugin } from '@plinth/kernel'
import { unwrapOptional } from '@plinth/kernel/host'
import { verifyError } from './errors.ts'
import { dependenciesOf, type PackageManifest, readManifest, type UnpackedPackage } from './package-checks.ts'
import { type VerifyProblem, withLevel } from './verify-report.ts'

const execute = promisify(execFile)

/** Maximum duration of `npm pack` and of unpacking in milliseconds. */
const packLimitMs = 300_000

/** A plugin that was packed and installed in a new product. */
export interface InstalledPlugin extends UnpackedPackage {
  /** Directory of the product. Its `node_modules` contains the plugin and all other packages. */
  readonly product: string
}

/** Variables that programs need. All others stay hidden, because they may contain tokens. */
const passedVariables = new Set(
  [
    'PATH',
    'PATHEXT',
    'SystemRoot',
    'windir',
    'ComSpec',
    'TMPDIR',
    'TEMP',
    'TMP',
    'LANG',
    'LC_ALL',
    'TZ',
    'NODE_COMPILE_CACHE',
  ].map((name) => name.toUpperCase()),
)

/**
 * Returns the environment for a program that the verification starts.
 *
 * @param home empty directory that replaces the home directory of the user, which contains credentials such as `.npmrc`
 */
export function createMinimalEnvironment(home: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => passedVariables.has(name.toUpperCase()))
  return { ...Object.fromEntries(kept), HOME: home, USERPROFILE: home }
}

/** Maximum duration in milliseconds, a signal that stops the program, and its home directory. */
interface ProgramLimits {
  readonly home: string
  readonly timeout: number
  readonly signal: AbortSignal | undefined
}

/** Runs a program without a terminal. On Windows npm is a shell script, so a shell is needed there. */
const runProgramIn = (cwd: string, file: string, words: readonly string[], { home, ...limits }: ProgramLimits) =>
  execute(file, [...words], {
    cwd,
    ...limits,
    env: createMinimalEnvironment(home),
    maxBuffer: 64 * 1024 * 1024,
    shell: process.platform === 'win32',
  })

function outputOf(error: unknown): string {
  const { stdout = '', stderr = '' }: { readonly stdout?: string; readonly stderr?: string } = Object(error)
  return `${stdout}\n${stderr}`
}

const maxLines = 12

/**
 * Returns the first important lines in the output of a failed program. Omits the lines that npm adds.
 *
 * @param start matches the first line that explains the failure
 */
function summarizeFailedOutput(error: unknown, start = /./): string {
  const lines = outputOf(error)
    .split('\n')
    .filter((line) => !/^(?:npm |> |\s*$)/.test(line))
  const first = Math.max(
    0,
    lines.findIndex((line) => start.test(line)),
  )
  return (
    lines
      .slice(first, first + maxLines)
      .join('\n')
      .trim() || errorReason(error)
  )
}

/**
 * Reads the package.json of a plugin.
 *
 * @throws PlinthError `PLINTH_VERIFY_FOLDER`
 */
export function manifestIn(folder: string): PackageManifest {
  const failed = (reason: string, cause?: unknown) => verifyError('PLINTH_VERIFY_FOLDER', { folder, reason }, cause)
  let manifest: Partial<PackageManifest>
  try {
    manifest = readManifest(folder)
  } catch (error) {
    throw failed(errorReason(error), error)
  }
  const { name, version } = manifest
  if (typeof name !== 'string' || typeof version !== 'string') {
    throw failed('its package.json has no name or no version')
  }
  return { ...manifest, name, version }
}

/**
 * Returns a function that finds installed packages like Node.js: in `node_modules` of the given directories and of
 * their parents.
 */
function finderIn(directories: readonly string[]): (name: string) => string | undefined {
  const places = directories.flatMap((start) => {
    const found: string[] = []
    for (let folder = start; ; folder = dirname(folder)) {
      found.push(join(folder, 'node_modules'))
      if (folder === dirname(folder)) return found
    }
  })
  return (name) => places.map((place) => join(place, name)).find((folder) => existsSync(join(folder, 'package.json')))
}

/**
 * Modules of `@plinth/presets` whose plugins are added to the larger of the two products in which a plugin is verified.
 */
const presets = ['platform', 'operations', 'notifications']

interface InstallOptions {
  /** Empty or new directory in which the product is created. */
  readonly work: string
  /** A packed archive to install instead of the folder. */
  readonly archive?: string | undefined
  /** Directory in which the command was started. */
  readonly directory: string
  readonly signal: AbortSignal | undefined
}

/**
 * Packs a plugin and installs it in a new product, without a network. As with pnpm, the plugin can import only the
 * packages that its package.json lists. They are links to packages that were installed for the plugin, the working
 * directory or the kernel.
 *
 * A private package may consist of TypeScript sources. It is installed outside of `node_modules`, because Node.js does
 * not strip types from files in `node_modules`.
 *
 * @throws PlinthError `PLINTH_VERIFY_PACK_FAILED`
 */
export async function installPlugin(
  folder: string,
  manifest: PackageManifest,
  { work, directory, archive: packed, signal }: InstallOptions,
): Promise<InstalledPlugin> {
  const find = finderIn([folder, directory, fileURLToPath(new URL('.', import.meta.url))])
  const archives = join(work, 'archives')
  const modules = join(work, 'plugin', 'node_modules')
  const product = join(work, 'product')
  const home = join(work, 'home')
  for (const path of [archives, modules, join(product, 'node_modules'), home]) await mkdir(path, { recursive: true })
  const real = manifest.private === true ? join(work, 'plugin', 'source') : join(modules, manifest.name)
  const limits = { timeout: packLimitMs, signal, home }
  try {
    const words = ['pack', '--ignore-scripts', '--pack-destination', archives, '--loglevel', 'error']
    if (packed === undefined) await runProgramIn(folder, 'npm', words, limits)
    const [archive = ''] = packed === undefined ? globSync('*.tgz', { cwd: archives }) : [packed]
    await runProgramIn(archives, 'tar', ['-xzf', archive], limits)
    await mkdir(dirname(real), { recursive: true })
    await rename(join(archives, 'package'), real)
  } catch (error) {
    throw verifyError('PLINTH_VERIFY_PACK_FAILED', { reason: summarizeFailedOutput(error) }, error)
  }
  const link = async (name: string, into: string, target = find(name)) => {
    if (target === undefined) return false
    const path = join(into, name)
    await mkdir(dirname(path), { recursive: true })
    // On Windows, junctions are links that need no special permission.
    if (!existsSync(path)) await symlink(target, path, 'junction')
    return true
  }
  const dependencies = dependenciesOf(manifest)
  const installed: string[] = []
  for (const name of dependencies) if (await link(name, modules)) installed.push(name)
  await link('@plinth/kernel', join(product, 'node_modules'))
  await link(manifest.name, join(product, 'node_modules'), real)
  for (const name of installed) await link(name, join(product, 'node_modules'))
  const hasPresets = await link('@plinth/presets', join(product, 'node_modules'))
  await writeFile(join(product, 'package.json'), '{ "type": "module", "private": true }\n')
  await writeFile(
    join(product, 'plugins.js'),
    [
      `export const names = ${JSON.stringify(installed)}`,
      `export const presets = ${JSON.stringify(hasPresets ? presets.map((name) => `@plinth/presets/${name}`) : [])}`,
      `export const tested = ${JSON.stringify(manifest.name)}`,
      'export const load = (name) => import(name)',
      '',
    ].join('\n'),
  )
  return { folder: real, product, manifest, folderOf: (name) => (installed.includes(name) ? find(name) : undefined) }
}

/** The function that returns the conformance kit, by extension point or by property of a declaration. */
const kits: Readonly<Record<string, string>> = {
  'notification.channel': 'notificationChannelCases',
  'notification.webhook-provider': 'webhookProviderCases',
  'rate-limit.store': 'rateLimitStoreCases',
  installTasks: 'installTaskCases',
}

/**
 * Runs the script `test` of a package, which also runs all conformance kits that its tests use. Returns a problem if
 * the script fails.
 */
export async function runPluginTests(
  folder: string,
  { name, scripts = {} }: PackageManifest,
  limits: ProgramLimits,
): Promise<readonly VerifyProblem[]> {
  if (scripts['test'] === undefined) return []
  try {
    await runProgramIn(folder, 'npm', ['test'], limits)
    return []
  } catch (error) {
    const isKit = outputOf(error).includes('ConformanceError')
    const reason = summarizeFailedOutput(error, isKit ? /ConformanceError/ : /not ok|✖|Error\b/)
    const code = isKit ? 'PLINTH_VERIFY_KIT_FAILED' : 'PLINTH_VERIFY_TESTS_FAILED'
    return [withLevel(verifyError(code, { name, reason }))]
  }
}

/** Returns a problem for each contribution whose conformance kit does not occur in the tests of the package. */
export function runConformanceKits(
  folder: string,
  { contributes = [], installTasks = [] }: Pick<Plugin, 'contributes' | 'installTasks'>,
): readonly VerifyProblem[] {
  const { scripts = {} } = readManifest(folder)
  const files = globSync('**/*.test.{js,mjs,ts,mts}', { cwd: folder, exclude: ['**/node_modules/**'] })
  const tests =
    scripts['test'] === undefined ? '' : files.map((file) => readFileSync(join(folder, file), 'utf8')).join()
  const points = [
    ...contributes.map((need) => unwrapOptional(need).id),
    ...(installTasks.length > 0 ? ['installTasks'] : []),
  ]
  return points.flatMap((point) => {
    const kit = kits[point]
    if (kit === undefined || tests.includes(kit)) return []
    return [withLevel(verifyError('PLINTH_VERIFY_KIT_MISSING', { point, kit }))]
  })
}

/** The version before the verified one. Products may have installed it. */
interface PreviousVersion {
  readonly folder: string
  readonly archive: string | undefined
  readonly manifest: PackageManifest
}

/**
 * Returns the previous version of a plugin: a packed archive, a folder, or the installed package with the same name.
 * Returns `undefined` if none is given and none is installed.
 *
 * @param given path of an archive or a folder
 * @throws PlinthError `PLINTH_VERIFY_PREVIOUS`
 */
export async function installPreviousVersion(
  folder: string,
  { name }: PackageManifest,
  given: string | undefined,
  { work, directory, signal }: InstallOptions,
): Promise<PreviousVersion | undefined> {
  const failed = (reason: string, cause?: unknown) => verifyError('PLINTH_VERIFY_PREVIOUS', { reason }, cause)
  const installed = finderIn([directory])(name)
  const chosen =
    given ?? (installed !== undefined && realpathSync(installed) !== realpathSync(folder) ? installed : undefined)
  if (chosen === undefined) return undefined
  try {
    const isFolder = statSync(chosen).isDirectory()
    const unpacked = join(work, 'previous-archive')
    if (!isFolder) {
      await mkdir(unpacked, { recursive: true })
      await runProgramIn(unpacked, 'tar', ['-xzf', chosen], { timeout: packLimitMs, signal, home: join(work, 'home') })
    }
    const source = isFolder ? chosen : join(unpacked, 'package')
    const manifest = manifestIn(source)
    if (manifest.name !== name) throw failed(`its name is ${manifest.name}, not ${name}.`)
    return { folder: source, archive: isFolder ? undefined : chosen, manifest }
  } catch (error) {
    throw isPlinthError(error) ? error : failed(errorReason(error), error)
  }
}
