import { type Command, InvalidArgumentError, Option } from 'commander'
import { withAuthoringValues } from '../configuration/authoring-values.ts'
import { settingsFileOf } from '../configuration/settings-file.ts'
import { type StartSummaryLine, startSummary } from '../contracts/kernel.ts'
import { errorReason, isPlinthError } from '../errors/coded-error.ts'
import { SettingsTrial } from '../files/settings-trial.ts'
import { isPlugin, type Role } from '../plugin.ts'
import { stopRecordingResources } from '../process/opened-resources.ts'
import { type RunningProduct, type StartOptions, startProduct } from '../running-product.ts'
import { systemClock } from '../time/clock.ts'
import { exitCodes, keepProcessAlive, runInterruptible } from './process-end.ts'
import { type CommandScope, parseRoles } from './scope.ts'
import { startWithFallback, startWithSettingsTrial } from './trial-start.ts'

const loopback = '127.0.0.1'
const hostKey = 'platform.http.host'

const roleOption = () =>
  new Option('--role <roles>', 'work of this process: web, worker or both')
    .argParser(parseRoles(['web', 'worker']))
    .default(['web', 'worker'], 'web,worker')

const inspectOption = () =>
  new Option('--inspect [address]', 'open the inspector of Node.js in the process of the product').argParser(
    parseAddress,
  )

export function addStartCommand(program: Command, scope: CommandScope): void {
  program
    .command('start')
    .summary('start the product and run until it is stopped')
    .description(
      'Starts the product in a separate process, and again when the product requests it. SIGTERM or SIGINT drains and stops it; a second one ends it immediately.',
    )
    .addOption(roleOption())
    .addOption(inspectOption())
    .addOption(
      new Option(
        '--no-supervisor',
        `run in this one process; exit code ${exitCodes.restart} requests a new start from the caller`,
      ),
    )
    .action((options: RunOptions) => serve(scope, options))
  program
    .command('dev')
    .summary('start the product, and again after each saved change')
    .description(
      'Watches the sources of the product and of its plugins outside node_modules, and .env. After a saved change a new process replaces the running one. If the product does not start, its port shows the problem.',
    )
    .addOption(roleOption())
    .addOption(inspectOption())
    .addOption(new Option('--host <address>', 'address to listen on').default(loopback))
    .action((options: RunOptions) => serve(scope, { ...options, isDev: true }))
}

interface RunOptions {
  readonly role: readonly Role[]
  readonly inspect?: InspectorAddress | true
  readonly host?: string
  /** True for `plinth dev`. */
  readonly isDev?: boolean
}

function serve(scope: CommandScope, options: RunOptions): Promise<void> {
  const signal = scope.supervisor?.signal
  return signal === undefined
    ? runInterruptible((given) => run(scope, options, given))
    : keepProcessAlive(run(scope, options, signal))
}

interface InspectorAddress {
  readonly host: string
  readonly port: number
}

const defaultInspector: InspectorAddress = { host: loopback, port: 9229 }

/** Parses the address of the inspector: `9230`, `127.0.0.1:9230` or `[::1]:9230`. */
function parseAddress(text: string): InspectorAddress {
  const [, host, port] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? []
  if (port === undefined || Number(port) > 65_535) throw new InvalidArgumentError('Write it as port or host:port.')
  return { host: host?.replace(/^\[(.*)\]$/, '$1') ?? loopback, port: Number(port) }
}

/** Returns the options of the start. `--host` applies only if the product has an HTTP server. */
function startOptions(scope: CommandScope, host: string | undefined): StartOptions {
  const options = scope.options()
  const hasServer = scope
    .product()
    .plugins.filter(isPlugin)
    .some(({ config }) => config?.[hostKey] !== undefined)
  if (host === undefined || !hasServer || options.set?.[hostKey] !== undefined) return options
  return { ...options, set: { ...options.set, [hostKey]: host } }
}

async function run(
  scope: CommandScope,
  { role: roles, inspect, host, isDev = false }: RunOptions,
  signal: AbortSignal,
): Promise<void> {
  await scope.supervisor?.permitted
  if (inspect !== undefined && !signal.aborted) {
    const { open } = await import('node:inspector')
    const { host, port } = inspect === true ? defaultInspector : inspect
    open(port, host)
  }
  const supervised = scope.supervisor === undefined ? 'external' : 'plinth'
  let isRequested = false
  const onRestartRequest = () => {
    isRequested = true
  }
  // If a signal arrives after a restart was requested, the process ends instead of restarting.
  const isRestart = () => isRequested && !signal.aborted && !scope.crashes.hasCrashed
  try {
    const options = { ...startOptions(scope, host), roles, signal, supervised, isDev, onRestartRequest } as const
    const product = isDev ? withAuthoringValues(scope.product()) : scope.product()
    const { progress } = scope.output
    const settingsFile = settingsFileOf(product, options)
    const running = await startWithSettingsTrial({
      trial: settingsFile === undefined ? undefined : new SettingsTrial(settingsFile),
      signal,
      clock: systemClock,
      progress,
      start: (given) => startProduct(product, { ...options, signal: given }),
      startForGood: (given) => startWithFallback(product, { ...options, signal: given }, progress),
    })
    // The code below waits until the product has ended, no matter what stopped it.
    signal.addEventListener('abort', () => void running.stop(errorReason(signal.reason)))
    stopRecordingResources()
    const lines = await readStartSummary(running)
    if (scope.output.isTerminal && scope.supervisor?.mode !== 'dev-again') progress(formatStartSummary(lines))
    scope.supervisor?.ready(findStartPageUrl(lines))
    await running.stopped
  } catch (error) {
    const isGivenUp = isPlinthError(error) && error.code === 'PLINTH_START_CANCELLED'
    if (isGivenUp && (isRequested || signal.aborted || scope.crashes.hasCrashed)) scope.output.progress(error.message)
    // The restart continues even if a resource could not be released.
    else if (isRestart()) scope.output.failure(error)
    else throw error
  }
  if (isRestart()) scope.exit(exitCodes.restart)
  else if (scope.crashes.hasCrashed) scope.exit(exitCodes.failed)
}

/**
 * Returns the start summary of all plugins in start order. If a plugin fails to return its part, the error is logged
 * and the part is omitted.
 */
async function readStartSummary(running: RunningProduct): Promise<readonly StartSummaryLine[]> {
  const parts = [...running.contributions(startSummary)].map(async ([name, read]) => {
    try {
      return await read()
    } catch (error) {
      running.log.warn({ err: error, part: name }, 'a part of the start summary is missing')
      return []
    }
  })
  return (await Promise.all(parts)).flat()
}

/** Returns the URL of the page to open first. */
const findStartPageUrl = (lines: readonly StartSummaryLine[]): string | undefined =>
  (lines.find(({ page }) => page === 'next') ?? lines.findLast(({ page }) => page === 'usual'))?.place

/** Formats the summary for the terminal. The last line contains the page to open. */
function formatStartSummary(lines: readonly StartSummaryLine[]): string {
  const width = Math.max(0, ...lines.map(({ label }) => label.length))
  const page = findStartPageUrl(lines)
  const rows = lines.map(({ label, place }) => `  ${label.padEnd(width)}  ${place}`)
  return [...rows, page === undefined ? 'The product runs.' : `Open ${page}`].join('\n')
}
