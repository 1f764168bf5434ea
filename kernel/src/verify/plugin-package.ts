import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { reasonOf } from '../errors/coded-error.ts'
import { verifyError } from './errors.ts'
import { dependenciesOf, type PackageManifest, readManifest, type UnpackedPackage } from './package-checks.ts'

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

/** Maximum number of lines of a failed program in a report. */
const maxLines = 12

/**
 * Returns the first lines of the output of a failed program, without those that npm adds.
 *
 * @param start marks the first line that explains the failure
 */
export function failedProgram(error: unknown, start = /./): string {
  const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string }
  const lines = `${stdout}\n${stderr}`.split('\n').filter((line) => !/^(?:npm |> |\s*$)/.test(line))
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
  const [archives, modules, product] = ['archives', 'plugin/node_modules', 'product'].map((name) =>
    join(work, name),
  ) as [string, string, string]
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
