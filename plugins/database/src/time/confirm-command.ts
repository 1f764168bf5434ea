import { userInfo } from 'node:os'
import { audit, type CommandInvocation, type Kernel } from '@plinth/kernel'
import type { DatabaseClock } from './database-clock.ts'

/** `plinth database confirm-clock`: trusts the clock of the host, so that irreversible tasks run again. SQLite only. */
export async function confirmClock(
  clock: DatabaseClock,
  kernel: Pick<Kernel, 'contributions'>,
  { output }: CommandInvocation,
): Promise<void> {
  const problem = await clock.check()
  if (problem === undefined) return output.result({ confirmed: false }, 'The clock is trusted. Nothing to confirm.')
  if (problem.remedy === 'confirm') {
    const summary = { state: problem.kind, differenceMs: problem.differenceMs }
    await audit(kernel, { actor: { name: `cli:${userInfo().username}` }, action: 'database-clock.confirm', summary })
  }
  const time = new Date(await clock.confirm()).toISOString()
  output.result({ confirmed: true, time }, `Confirmed ${time}. Irreversible tasks run again within a minute.`)
}
