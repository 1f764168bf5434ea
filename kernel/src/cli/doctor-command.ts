import { getCompileCacheDir } from 'node:module'
import { omitUndefined } from '@plinth/config-schema'
import type { Command } from 'commander'
import { oldNodeVersion } from '../../bin/node-version.js'
import type { CommandFinding } from '../contracts/declarations.ts'
import type { ConfigAdmin, TimelineEntry } from '../contracts/kernel.ts'
import { dataCheck, healthCheck, readHealthWarnings } from '../contracts/kernel.ts'
import { causeCodeOf, errorReason, isPlinthError } from '../errors/coded-error.ts'
import { describeProblem, fileAccessError, kernelError } from '../errors/kernel-errors.ts'
import { developerStack } from '../errors/stack.ts'
import { nodeRange } from '../kernel-plugin.ts'
import { type PrepareOptions, prepareProduct } from '../product.ts'
import { systemClock } from '../time/clock.ts'
import { withinDeadline } from '../time/deadlines.ts'
import { commandRoles, startForCommand } from './partial-start.ts'
import { exitCodes, runInterruptible } from './process-end.ts'
import type { CommandScope } from './scope.ts'

/** Formats the durations of all phases, and of the plugins in each phase, as a tree. Durations are in milliseconds. */
function timeTree(timeline: readonly TimelineEntry[]): string {
  const lines = [...Map.groupBy(timeline, ({ phase }) => phase)].flatMap(([phase, entries]) => {
    const took = entries.map(({ startedAtMs, durationMs }) => startedAtMs + durationMs)
    const total = Math.max(...took) - Math.min(...entries.map(({ startedAtMs }) => startedAtMs))
    const branches = entries.map(({ plugin, durationMs, outcome }, index) => {
      const branch = index === entries.length - 1 ? '└──' : '├──'
      return `${branch} ${plugin} ${Math.round(durationMs)} ms${outcome === 'failed' ? ', failed' : ''}`
    })
    return [`${phase} ${Math.round(total)} ms`, ...branches]
  })
  return lines.join('\n')
}

interface Finding extends CommandFinding {
  /** Stack of an error that does not contain a fix. */
  readonly stack?: string
}

/** Maximum duration of one health check in milliseconds. */
const checkDeadlineMs = 5000

export function addDoctorCommand(program: Command, scope: CommandScope): void {
  program
    .command('doctor')
    .summary('check plan, configuration and every health check without serving anything')
    .option('--data', 'also check all stored data, for example the balances of the ledger; this may take long')
    .action(async ({ data: checksData = false }: { readonly data?: boolean }) => {
      const timeline: TimelineEntry[] = []
      const { findings, isInterrupted } = await runInterruptible(async (signal) => ({
        findings: await examine(scope, { signal, timeline, checksData }),
        isInterrupted: signal.aborted,
      }))
      const isHealthy = findings.every(({ outcome }) => outcome !== 'failed')
      const rows = findings.map(({ check, outcome, detail }) => [outcome, check, detail])
      const stacks = findings.flatMap(({ check, stack }) => (stack === undefined ? [] : [`\n${check}:\n${stack}`]))
      const times = timeline.length === 0 ? [] : ['', timeTree(timeline)]
      const value = { healthy: isHealthy, findings, timeline }
      scope.output.table(value, [['OUTCOME', 'CHECK', 'DETAIL'], ...rows], [...times, ...stacks].join('\n'))
      if (isInterrupted) scope.exit(exitCodes.interrupted)
      else scope.exit(isHealthy ? exitCodes.ok : exitCodes.failed)
    })
}

interface Examination {
  readonly signal: AbortSignal
  /** True to run the data checks. */
  readonly checksData: boolean
  /** Receives the durations of the setup. */
  readonly timeline?: TimelineEntry[]
}

/** Runs all checks. Returns one entry for each success, warning and failure. */
export async function examine(
  scope: CommandScope,
  { signal, checksData, timeline = [] }: Examination,
): Promise<Finding[]> {
  const findings = [nodeFinding(scope.nodeVersion), compileCacheFinding(getCompileCacheDir()), ...planFindings(scope)]
  if (findings.some(({ outcome }) => outcome === 'failed')) return findings
  try {
    const { running, failures } = await startForCommand(scope, { needed: [], setsUp: 'possible', signal })
    for (const failure of failures) {
      findings.push(...(await runCheck('set-up', () => Promise.reject(failure))))
    }
    timeline.push(...running.timeline)
    const late = () => new Error(`no answer within ${checkDeadlineMs} ms`)
    for (const { place, code, message, fix } of [...running.config.insecure(), ...running.config.overridden()]) {
      findings.push({ check: place, outcome: 'warning', code, detail: `${message} ${fix}` })
    }
    for (const finding of await verifyStored(running.config, signal)) findings.push(finding)
    const check = async (name: string, work: () => Promise<unknown>) => {
      for (const { stack, ...finding } of await runCheck(name, work)) {
        const masked = stack === undefined ? {} : { stack: running.redact(stack) }
        findings.push({ ...finding, detail: running.redact(finding.detail), ...masked })
      }
    }
    for (const [name, health] of running.contributions(healthCheck)) {
      await check(`health of ${name}`, () => withinDeadline(systemClock, checkDeadlineMs, health, late, signal))
    }
    const { progress } = scope.output
    for (const [name, verify] of checksData ? running.contributions(dataCheck) : []) {
      await check(`data of ${name}`, async () =>
        verify({ signal, progress: (text) => progress(`${name}: ${running.redact(text)}`) }),
      )
    }
    findings.push(...(await runCheck('stop', () => running.stop('doctor ended'))))
  } catch (error) {
    findings.push(...(await runCheck('set-up', () => Promise.reject(error))))
  }
  return findings
}

function nodeFinding(found: string): Finding {
  const check = 'Node.js'
  const old = oldNodeVersion(found, nodeRange)
  if (old === undefined) return { check, outcome: 'ok', detail: `${found}, needs ${nodeRange}` }
  const { code, message, fix } = kernelError('PLINTH_NODE_VERSION', old)
  return { check, outcome: 'failed', code, detail: `${message} ${fix}` }
}

/** @param directory of the compile cache of Node.js, if it is enabled */
function compileCacheFinding(directory: string | undefined): Finding {
  const check = 'compile cache'
  if (directory !== undefined) return { check, outcome: 'ok', detail: directory }
  const detail =
    'Not in use, so each start compiles all modules. Let the user of the process write node_modules/.cache/plinth next to the product file, or set NODE_COMPILE_CACHE to a directory that only this user can write.'
  return { check, outcome: 'warning', detail }
}

/**
 * Checks the plan and the values both for the roles of a server and for `cli`, because some plugins load only in some
 * roles.
 */
function planFindings(scope: CommandScope): Finding[] {
  const prepare = (roles: Pick<PrepareOptions, 'roles'>) =>
    prepareProduct(scope.product(), { ...scope.options(), ...roles })
  const server = prepare({ roles: ['web', 'worker'] })
  const command = prepare(commandRoles)
  const { plan } = server
  const once = (list: 'problems' | 'warnings') => {
    const described = [...server[list], ...command[list]].map((found) => [describeProblem(found), found] as const)
    return [...new Map(described)]
  }
  return [
    { check: 'plan', outcome: 'ok', detail: `${plan.plugins.length} plugins, ${plan.keys.size} keys` },
    ...once('warnings').map(([, { place, code, message, fix }]): Finding => {
      return { check: place, outcome: 'warning', code, detail: `${message} ${fix}` }
    }),
    ...once('problems').map(([text, { place, code }]): Finding => {
      return { check: place, outcome: 'failed', code, detail: text.trim() }
    }),
  ]
}

/**
 * Lets the plugins verify their stored values. A value may work for the plugins of this command and still prevent the
 * start of a server.
 */
async function verifyStored(config: ConfigAdmin, signal: AbortSignal): Promise<Finding[]> {
  const sensitive = new Set(config.catalogue.filter((entry) => entry.sensitive).map(({ key }) => key))
  const findings: Finding[] = []
  for (const { key, effective } of config.list()) {
    if (effective.source !== 'database' || effective.value === undefined || sensitive.has(key)) continue
    const { outcome, reason = '' } = await config.verify(key, effective.value, signal)
    if (outcome !== 'refused') continue
    const detail = `${reason} Store another with plinth config set, or remove it: plinth config reset ${key}`
    findings.push({ check: effective.place, outcome: 'failed', code: 'PLINTH_CONFIG_INVALID_VALUE', detail })
  }
  return findings
}

/** Runs a check. Returns one entry for success or failure, or one entry for each warning of a health check. */
async function runCheck(check: string, work: () => Promise<unknown>): Promise<Finding[]> {
  try {
    const warnings = readHealthWarnings(await work())
    if (warnings.length > 0) return warnings.map((detail) => ({ check, outcome: 'warning', detail }))
    return [{ check, outcome: 'ok', detail: '' }]
  } catch (error) {
    const known = fileAccessError(error) ?? error
    const fix = isPlinthError(known) ? ` ${known.fix}` : ''
    const stack = developerStack(error)
    const detail = `${errorReason(known)}${fix}`
    return [omitUndefined({ check, outcome: 'failed', code: causeCodeOf(error), detail, stack })]
  }
}
