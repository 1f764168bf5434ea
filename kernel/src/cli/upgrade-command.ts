import { environmentName } from '@plinth/config-schema'
import type { Command } from 'commander'
import { type ManifestEntries, type UpgradeStep, upgradeSteps } from '../contracts/kernel.ts'
import { kernelError, type Problem } from '../errors/kernel-errors.ts'
import type { RunningProduct } from '../running-product.ts'
import { compareManifests, createManifest, lockFileOf, type Manifest, readLockFile } from './manifest.ts'
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
      'Lists new versions of plugins, manifest entries, change sets that would run, removed and deprecated operations, and removed, renamed and deprecated keys that the configuration uses. Writes nothing. Fails if a step needs your action.',
    )
    .option('--dry-run', 'list the steps; required, because "plinth start" and "plinth migrate" do the upgrade')
    .action(({ dryRun = false }: { dryRun?: boolean }) =>
      runInterruptible(async (signal) => {
        if (!dryRun) {
          const reason = 'Add --dry-run to list the steps. "plinth start" or "plinth migrate" changes the database.'
          throw kernelError('PLINTH_CLI_USAGE', { reason, command: 'plinth upgrade' })
        }
        const recorded = readLockFile(lockFileOf(scope.product()))
        const { running } = await startForCommand(scope, {
          needed: [],
          setsUp: 'all',
          toleratesUnknownKeys: true,
          signal,
        })
        try {
          const steps = await stepsOf(scope, recorded, running)
          print(scope, steps)
          scope.exit(steps.some(({ isBlocking }) => isBlocking) ? exitCodes.failed : exitCodes.ok)
        } finally {
          await running.stop('command ended')
        }
      }),
    )
}

async function stepsOf(
  scope: CommandScope,
  recorded: Manifest,
  running: RunningProduct,
): Promise<readonly ReportedStep[]> {
  const differences = compareManifests(recorded, createManifest(scope.product().plugins, running))
  const steps = differences.map(({ change, plugin, kind, entry }): ReportedStep => {
    const isVersion = kind === 'version'
    const subject = isVersion ? 'version' : 'manifest'
    return { subject, change, plugin, entry: isVersion ? entry : `${kind}: ${entry}`, isBlocking: change === 'added' }
  })
  for (const [subject, find] of running.contributions(upgradeSteps)) {
    for (const step of await find(recordedEntries(recorded, subject))) {
      steps.push({ subject, isBlocking: false, ...step })
    }
  }
  return [...steps, ...keySteps(recorded, running)]
}

const recordedEntries = ({ plugins }: Manifest, kind: string): ManifestEntries =>
  new Map(Object.entries(plugins).map(([plugin, { entries }]) => [plugin, entries[kind] ?? []]))

/**
 * Returns the steps for removed, renamed and deprecated keys that a file, an environment variable or a stored value
 * sets.
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
  const stored = config.orphaned.map(({ name, place }): ReportedStep => {
    const plugin = ownerOf((key) => key === name)
    const entry = `${place}: "${name}" is stored, but no loaded plugin declares it. It stays stored and has no effect.`
    return { subject: 'key', change: 'removed', plugin, entry, isBlocking: false }
  })
  return [...[...warnings, ...config.storedProblems].flatMap(stepOf), ...stored]
}

function print({ output }: CommandScope, steps: readonly ReportedStep[]): void {
  const blocking = steps.filter(({ isBlocking }) => isBlocking).length
  const report = { steps, blocking }
  if (steps.length === 0) {
    output.result(report, 'The installed versions change nothing.')
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
