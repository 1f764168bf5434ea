import { type Command, Option } from 'commander'
import { isPlinthError, reasonOf } from '../errors.ts'
import type { Role } from '../plugin.ts'
import { startProduct } from '../running-product.ts'
import { interruptible } from './interruptible.ts'
import { type CommandScope, parseRoles } from './scope.ts'

export function addStartCommand(program: Command, scope: CommandScope): void {
  program
    .command('start')
    .summary('start the product and run until it is told to stop')
    .description('Starts the product. SIGTERM or SIGINT drains and stops it; a second one ends it at once.')
    .addOption(
      new Option('--role <roles>', 'what this process does: web, worker or both')
        .argParser(parseRoles(['web', 'worker']))
        .default(['web', 'worker'], 'web,worker'),
    )
    .action(({ role }: { role: readonly Role[] }) => interruptible((signal) => run(scope, role, signal)))
}

async function run(scope: CommandScope, roles: readonly Role[], signal: AbortSignal): Promise<void> {
  try {
    const running = await startProduct(scope.product(), { ...scope.options(), roles, signal })
    // Its end is awaited below, whoever asked for it.
    signal.addEventListener('abort', () => void running.stop(reasonOf(signal.reason)))
    await running.stopped
  } catch (error) {
    const isCancelled = signal.aborted && isPlinthError(error) && error.code === 'PLINTH_START_CANCELLED'
    if (!isCancelled) throw error
    scope.output.progress(error.message)
  }
}
