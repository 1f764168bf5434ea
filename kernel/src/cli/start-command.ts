import { type Command, Option } from 'commander'
import { isPlinthError, reasonOf } from '../errors/coded-error.ts'
import { SettingsTrial } from '../files/settings-trial.ts'
import type { Role } from '../plugin.ts'
import { stopWatchingOpened } from '../process/opened-resources.ts'
import { startProduct } from '../running-product.ts'
import { systemClock } from '../time/clock.ts'
import { exitCodes, interruptible, keptAlive } from './process-end.ts'
import { type CommandScope, parseRoles } from './scope.ts'
import { startOnTrial, startWithFallback } from './trial-start.ts'

export function addStartCommand(program: Command, scope: CommandScope): void {
  program
    .command('start')
    .summary('start the product and run until it is told to stop')
    .description(
      'Starts the product in a process of its own, and again when it asks for that. SIGTERM or SIGINT drains and stops it; a second one ends it at once.',
    )
    .addOption(
      new Option('--role <roles>', 'what this process does: web, worker or both')
        .argParser(parseRoles(['web', 'worker']))
        .default(['web', 'worker'], 'web,worker'),
    )
    .addOption(
      new Option(
        '--no-supervisor',
        `run in this one process; exit code ${exitCodes.restart} asks whoever started it for a new start`,
      ),
    )
    .action(({ role }: { role: readonly Role[] }) => {
      const signal = scope.supervisor?.signal
      return signal === undefined
        ? interruptible((given) => run(scope, role, given))
        : keptAlive(run(scope, role, signal))
    })
}

async function run(scope: CommandScope, roles: readonly Role[], signal: AbortSignal): Promise<void> {
  const supervised = scope.supervisor === undefined ? 'external' : 'plinth'
  let isRequested = false
  const onRestartRequest = () => {
    isRequested = true
  }
  // A request to end the process has priority over a requested restart.
  const isRestart = () => isRequested && !signal.aborted && !scope.crashes.hasCrashed
  try {
    const options = { ...scope.options(), roles, signal, supervised, onRestartRequest } as const
    const product = scope.product()
    const { progress } = scope.output
    const running = await startOnTrial({
      trial: new SettingsTrial(product.root),
      signal,
      clock: systemClock,
      progress,
      start: (given) => startProduct(product, { ...options, signal: given }),
      startForGood: (given) => startWithFallback(product, { ...options, signal: given }, progress),
    })
    // The end is awaited below, for every kind of request.
    signal.addEventListener('abort', () => void running.stop(reasonOf(signal.reason)))
    stopWatchingOpened()
    scope.supervisor?.ready()
    await running.stopped
  } catch (error) {
    const isGivenUp = isPlinthError(error) && error.code === 'PLINTH_START_CANCELLED'
    if (isGivenUp && (isRequested || signal.aborted || scope.crashes.hasCrashed)) scope.output.progress(error.message)
    // A resource that could not be released must not prevent the restart.
    else if (isRestart()) scope.output.failure(error)
    else throw error
  }
  if (isRestart()) scope.exit(exitCodes.restart)
  else if (scope.crashes.hasCrashed) scope.exit(exitCodes.failed)
}
