import { existsSync } from 'node:fs'
import { environmentName } from '@plinth/config-schema'
import type { Command } from 'commander'
import { type ManifestEntries, type UpgradeStep, upgradeSteps } from '../contracts/kernel.ts'
import { kernelError, type Problem } from '../errors/kernel-errors.ts'
import type { RunningProduct } from '../running-product.ts'
import { compareManifests, createManifest, isWidening, lockFileOf, type Manifest, readLockFile } from './manifest.ts'
import { startForCommand } from './partial-start.ts'
import { exitCodes, runInterruptible } from './process-end.ts'
import type { CommandScope } from './scope.ts'

/** One line of the report. It is about a version, a manifest entry, a configuration key, or a step of a plugin. */
interface ReportedStep extends UpgradeStep {
  readonly subject: string
  readonly isBlocking: boolean
}

export function addUpgradeCommand(program: Command, scope: CommandScope): void {
  program
    .command('upgrade')
    .summary('list what the installed versions change, compared with plinth.lock.json and the database')
    .description(
      'Lists new plugins and versions, manifest entries, change sets that would run, removed and deprecated operations, and removed, renamed and deprecated keys that the configuration uses. Without plinth.lock.json, compares only the database. Writes nothing. Fails if a step needs your action.',
    )
    .option('--dry-run', 'list the steps; required, because "plinth start" and "plinth migrate" do the upgrade')
    .action(({ dryRun = false }: { dryRun?: boolean }) =>
      runInterruptible(async (signal) => {
        if (!dryRun) {
          const reason = 'Add --dry-run to list the steps. "plinth start" or "plinth migrate" changes the database.'
          throw kernelError('PLINTH_CLI_USAGE', { reason, command: 'plinth upgrade' })
        }
        const lockFile = lockFileOf(scope.product())
        const recorded = existsSync(lockFile) ? readLockFile(lockFile) : undefined
        const { running } = await startForCommand(scope, {
          needed: [],
          setsUp: 'all',
          toleratesUnknownKeys: true,
          signal,
        })
        try {
          const steps = await stepsOf(scope, recorded, running)
          print(scope, steps, recorded !== undefined)
          scope.exit(steps.some(({ isBlocking }) => isBlocking) ? exitCodes.failed : exitCodes.ok)
        } finally {
          await running.stop('command ended')
        }
      }),
    )
}

/** Manifest of a product without a lock file. */
const noManifest: Manifest = { lockVersion: 1, plugins: {} }

/** @param locked content of the lock file; if it is missing, only what the database stores is compared */
async function stepsOf(
  scope: CommandScope,
  locked: Manifest | undefined,
  running: RunningProduct,
): Promise<readonly ReportedStep[]> {
  const recorded = locked ?? noManifest
  const steps = locked === undefined ? [] : manifestSteps(locked, createManifest(scope.product().plugins, running))
  for (const [subject, find] of running.contributions(upgradeSteps)) {
    for (const step of await find(recordedEntries(recorded, subject))) {
      steps.push({ subject, isBlocking: false, ...step })
    }
  }
  return [...steps, ...keySteps(recorded, running)]
}

/** Returns one step for each new plugin, and one for each difference of another plugin. */
function manifestSteps(locked: Manifest, current: Manifest): ReportedStep[] {
  const isNew = (plugin: string) => locked.plugins[plugin] === undefined
  const added = Object.entries(current.plugins).filter(([plugin]) => isNew(plugin))
  const newPlugins = added.map(([plugin, { version, entries }]): ReportedStep => {
    const counts = Object.entries(entries).map(([kind, { length }]) => `${kind}: ${length}`)
    const entry = [version, counts.join(', ')].filter((text) => text !== '').join(' with ')
    return { subject: 'plugin', change: 'added', plugin, entry, isBlocking: true }
  })
  const changed = compareManifests(locked, current).filter(({ plugin }) => !isNew(plugin))
  const differences = changed.map((difference): ReportedStep => {
    const { change, plugin, kind, entry } = difference
    const isVersion = kind === 'version'
    const subject = isVersion ? 'version' : 'manifest'
    return {
      subject,
      change,
      plugin,
      entry: isVersion ? entry : `${kind}: ${entry}`,
      isBlocking: isWidening(difference),
    }
  })
  return [...newPlugins, ...differences]
}

const recordedEntries = ({ plugins }: Manifest, kind: string): ManifestEntries =>
  new Map(Object.entries(plugins).map(([plugin, { entries }]) => [plugin, entries[kind] ?? []]))

/**
 * Returns the steps for removed, renamed and deprecated keys that a file, an environment variable or a stored value
 * sets, and for stored values that this version ignores.
 */
function keySteps(recorded: Manifest, running: RunningProduct): readonly ReportedStep[] {
  const { config, warnings } = running
  const formerKeys = [...recordedEntries(recorded, 'keys')].flatMap(([plugin, keys]) =>
    keys.map((key) => ({ plugin, key })),
  )
  const ownerOf = (names: (name: string) => boolean) =>
    formerKeys.find(({ key }) => names(key) || names(environmentName(key)))?.plugin ?? ''
  const replaced = config.catalogue.filter(({ deprecated }) => deprecated?.replacement !== undefined)
  const stepOf = ({ code, place, plugin, message, fix }: Problem): readonly ReportedStep[] => {
    const entry = `${place}: ${message} ${fix}`
    const mentions = (name: string) => message.includes(`"${name}"`)
    if (code === 'PLINTH_CONFIG_UNKNOWN_KEY') {
      return [{ subject: 'key', change: 'removed', plugin: ownerOf(mentions), entry, isBlocking: true }]
    }
    if (code !== 'PLINTH_CONFIG_DEPRECATED') return []
    const change = replaced.some(({ key }) => mentions(key)) ? 'renamed' : 'deprecated'
    return [{ subject: 'key', change, plugin: plugin ?? '', entry, isBlocking: false }]
  }
  const ignored = config.storedProblems
    .filter(({ code }) => code === 'PLINTH_CONFIG_INVALID_VALUE')
    .map(({ place, plugin = '', message, fix }): ReportedStep => {
      const entry = `${place}: ${message} ${fix}`
      return { subject: 'key', change: 'ignored', plugin, entry, isBlocking: true }
    })
  const stored = config.orphaned.map(({ name, place }): ReportedStep => {
    const plugin = ownerOf((key) => key === name)
    const entry = `${place}: "${name}" is stored, but no loaded plugin declares it. It stays stored and has no effect.`
    return { subject: 'key', change: 'removed', plugin, entry, isBlocking: false }
  })
  return [...[...warnings, ...config.storedProblems].flatMap(stepOf), ...ignored, ...stored]
}

const withoutLock = 'There is no plinth.lock.json, so keys, routes and other entries of plugins were not compared.'

function print({ output }: CommandScope, steps: readonly ReportedStep[], isLocked: boolean): void {
  const blocking = steps.filter(({ isBlocking }) => isBlocking).length
  const report = { steps, blocking, isLocked }
  if (!isLocked) output.progress(withoutLock)
  if (steps.length === 0) {
    output.result(report, isLocked ? 'The installed versions change nothing.' : 'No step was found in the database.')
    return
  }
  const rows = steps.map(({ subject, change, plugin, entry, isBlocking }) => {
    return [isBlocking ? 'act first' : '', subject, change, plugin, entry]
  })
  const advice =
    blocking === 0
      ? 'No step needs your action.'
      : `${blocking} step(s) need your action. "plinth plugins lock" approves added entries and removed operations; correct the others.`
  output.table(
    report,
    [['ACTION', 'SUBJECT', 'CHANGE', 'PLUGIN', 'ENTRY'], ...rows],
    `\n${advice} Nothing was changed.`,
  )
}
