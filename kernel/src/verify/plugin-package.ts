import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdir, readdir, rename, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { reasonOf } from '../errors/coded-error.ts'
import type { Plugin } from '../plugin.ts'
import { refOf } from '../refs.ts'
import { verifyError } from './errors.ts'
import { dependenciesOf, type PackageManifest, readManifest, type UnpackedPackage } from './package-checks.ts'
import { leveled, type VerifyProblem } from './verify-report.ts'

const execute = promisify(execFile)

/** Maximum duration of `npm pack` and of unpacking, in milliseconds. */
const packLimitMs = 300_000

/** A packed plugin, installed in the directory of a product. */
export interface InstalledPlugin extends UnpackedPackage {
  /** Directory of the product, with the plugin and the packages of the product in its `node_modules`. */
  readonly product: string
}

/** Environment of a program that the verification starts: without options that change Node.js or a product. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => name !== 'NODE_OPTIONS' && !name.startsWith('PLATFORM_'))
  return Object.fromEntries(kept)
}

/** Maximum duration of a program in milliseconds, and the signal that ends it. */
export interface ProgramLimits {
  readonly timeout: number
  readonly signal: AbortSignal | undefined
}

/** Runs a program without a terminal. npm is a script of the shell on Windows. */
export const runProgramIn = (cwd: string, file: string, words: readonly string[], limits: ProgramLimits) =>
  execute(file, [...words], {
    cwd,
    ...limits,
    env: cleanEnvironment(),
    maxBuffer: 64 * 1024 * 1024,
    shell: process.platform === 'win32',
  })

/** Returns the output that the error of a failed program contains. */
function outputOf(error: unknown): string {
  const { stdout = '', stderr = '' }: { readonly stdout?: string; readonly stderr?: string } = Object(error)
  return `${stdout}\n${stderr}`
}

/** Maximum number of lines of a failed program in a report. */
const maxLines = 12

/**
 * Returns the first lines of the output of a failed program, without those that npm adds.
 *
 * @param start marks the first line that explains the failure
 */
export function failedProgram(error: unknown, start = /./): string {
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
      .trim() || reasonOf(error)
  )
}

/** @throws PlinthError `PLINTH_VERIFY_FOLDER` */
export function manifestIn(folder: string): PackageManifest {
  const failed = (reason: string, cause?: unknown) => verifyError('PLINTH_VERIFY_FOLDER', { folder, reason }, cause)
  let manifest: Partial<PackageManifest>
  try {
    manifest = readManifest(folder)
  } catch (error) {
    throw failed(reasonOf(error), error)
  }
  const { name, version } = manifest
  if (typeof name !== 'string' || typeof version !== 'string') {
    throw failed('its package.json has no name or no version')
  }
  return { ...manifest, name, version }
}

/** Finds installed packages like Node.js: in the `node_modules` of a directory or of one above it. */
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

/** Subpaths of `@plinth/presets` whose plugins are the filled product. */
const presets = ['platform', 'operations', 'notifications']

export interface InstallOptions {
  /** Empty directory. */
  readonly work: string
  /** Working directory of the command. */
  readonly directory: string
  readonly signal: AbortSignal | undefined
}

/**
 * Packs a plugin and installs the archive in a new product without a network. As with pnpm, the plugin finds only the
 * packages that its manifest lists. They are links to packages that are installed for the folder, for the working
 * directory or for the kernel.
 *
 * A private package is not published, so its files are outside of `node_modules`: Node.js strips their types.
 *
 * @throws PlinthError `PLINTH_VERIFY_PACK_FAILED`
 */
export async function installPlugin(
  folder: string,
  manifest: PackageManifest,
  { work, directory, signal }: InstallOptions,
): Promise<InstalledPlugin> {
  const find = finderIn([folder, directory, fileURLToPath(new URL('.', import.meta.url))])
  const archives = join(work, 'archives')
  const modules = join(work, 'plugin', 'node_modules')
  const product = join(work, 'product')
  for (const path of [archives, modules, join(product, 'node_modules')]) await mkdir(path, { recursive: true })
  const real = manifest.private === true ? join(work, 'plugin', 'source') : join(modules, manifest.name)
  const limits = { timeout: packLimitMs, signal }
  try {
    await runProgramIn(folder, 'npm', ['pack', '--pack-destination', archives, '--loglevel', 'error'], limits)
    const [archive = ''] = await readdir(archives)
    await runProgramIn(archives, 'tar', ['-xzf', archive], limits)
    await mkdir(dirname(real), { recursive: true })
    await rename(join(archives, 'package'), real)
  } catch (error) {
    throw verifyError('PLINTH_VERIFY_PACK_FAILED', { reason: failedProgram(error) }, error)
  }
  const link = async (name: string, into: string, target = find(name)) => {
    if (target === undefined) return false
    const path = join(into, name)
    await mkdir(dirname(path), { recursive: true })
    // The links of Windows that need no rights.
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

/** Extension points and declarations with a conformance kit, and the function that returns its cases. */
const kits: Readonly<Record<string, string>> = {
  'notification.channel': 'notificationChannelCases',
  'notification.webhook-provider': 'webhookProviderCases',
  'rate-limit.store': 'rateLimitStoreCases',
  installTasks: 'installTaskCases',
}

/** Runs the script `test` of a package in its folder, which includes the conformance kits that its tests run. */
export async function testProblems(
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
    const reason = failedProgram(error, isKit ? /ConformanceError/ : /not ok|✖|Error\b/)
    const code = isKit ? 'PLINTH_VERIFY_KIT_FAILED' : 'PLINTH_VERIFY_TESTS_FAILED'
    return [leveled(verifyError(code, { name, reason }))]
  }
}

/** Returns a problem for each extension point whose conformance kit no test file of the package names. */
export function kitProblems(
  folder: string,
  { contributes = [], installTasks = [] }: Pick<Plugin, 'contributes' | 'installTasks'>,
): readonly VerifyProblem[] {
  const { scripts = {} } = readManifest(folder)
  const files = globSync('**/*.test.{js,mjs,ts,mts}', { cwd: folder, exclude: ['**/node_modules/**'] })
  const tests =
    scripts['test'] === undefined ? '' : files.map((file) => readFileSync(join(folder, file), 'utf8')).join()
  const points = [...contributes.map((need) => refOf(need).id), ...(installTasks.length > 0 ? ['installTasks'] : [])]
  return points.flatMap((point) => {
    const kit = kits[point]
    if (kit === undefined || tests.includes(kit)) return []
    return [leveled(verifyError('PLINTH_VERIFY_KIT_MISSING', { point, kit }))]
  })
}
