import { runProgram } from './program.ts'
import type { SupervisorLink } from './supervisor-link.ts'

/** How long what a plugin left open may keep the process alive, in milliseconds. */
const lingerMs = 1000

const standardStreams = ['PipeWrap', 'TTYWrap']

/** Runs a command line as this process, and makes sure that the process ends. */
export async function runProcess(words: readonly string[], supervisor: SupervisorLink | undefined): Promise<void> {
  // A reader such as `head` may leave early; that is no failure of the program.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit()
  })
  process.exitCode = await runProgram(words, {
    stdout: process.stdout,
    stderr: process.stderr,
    environment: process.env,
    directory: process.cwd(),
    supervisor,
    onCrash: (listener) => process.on('uncaughtException', listener),
  })
  // Does not hold the process itself: it fires only where something else does.
  setTimeout(() => {
    const open = process.getActiveResourcesInfo().filter((resource) => !standardStreams.includes(resource))
    process.stderr.write(`Ended although something is still open: ${open.join(', ') || 'unknown'}.\n`)
    process.exit()
  }, lingerMs).unref()
}
