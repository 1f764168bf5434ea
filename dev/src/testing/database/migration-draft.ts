import type { RunningProduct } from '@plinth/kernel/host'
import { draftCommand } from '../../draft/draft-command.ts'

/** Runs `plinth migrate draft` in a product, and returns its exit code and what it prints. */
export async function runMigrateDraft(running: RunningProduct) {
  const printed: { text: string; value: unknown } = { text: '', value: undefined }
  const output = {
    json: false,
    result: (value: unknown, text: string) => {
      Object.assign(printed, { value, text })
    },
    table: () => {},
    progress: () => {},
  }
  const runtime = running.runtimeOf('database')
  if (runtime === undefined) throw new Error('The product has no database.')
  const signal = new AbortController().signal
  const exitCode = await draftCommand.run(runtime, { args: [], options: {}, output, signal, examine: async () => [] })
  return { ...printed, exitCode }
}
